package server

import (
	"context"
	"io"
	"reflect"

	"github.com/sirupsen/logrus"
)

// quiet gives the library a logger that says nothing. The library looks for
// one under a key that it does not export; the alternative, the process-wide
// logger, belongs to the program and not to this package. Should the key be
// renamed, the logs appear on stderr and the package's test fails.
type quiet struct {
	context.Context
	entry *logrus.Entry
}

func silence(ctx context.Context) context.Context {
	if _, already := ctx.(quiet); already {
		return ctx
	}
	logger := &logrus.Logger{Out: io.Discard, Formatter: new(logrus.TextFormatter), Level: logrus.PanicLevel}
	return quiet{Context: ctx, entry: logrus.NewEntry(logger)}
}

func (q quiet) Value(key any) any {
	if reflect.TypeOf(key).String() == "dcontext.loggerKey" {
		return q.entry
	}
	return q.Context.Value(key)
}
