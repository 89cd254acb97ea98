package registry

import (
	"time"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
)

// age is a flag that holds a duration, in days too.
type age struct{ value *time.Duration }

func (a age) String() string {
	if a.value == nil { // pflag asks an empty one whether a default is zero
		return ""
	}
	return report.Age(*a.value)
}

func (a age) Type() string { return "AGE" }

func (a age) Set(s string) (err error) {
	*a.value, err = policy.ParseAge(s)
	return err
}

// share is a flag that holds a part of a whole.
type share struct{ value *policy.Share }

func (s share) String() string {
	if s.value == nil {
		return ""
	}
	return s.value.String()
}

func (s share) Type() string { return "SHARE" }

func (s share) Set(text string) (err error) {
	*s.value, err = policy.ParseShare(text)
	return err
}

func parseGlob(s string) error {
	_, err := policy.ParseGlob(s)
	return err
}
