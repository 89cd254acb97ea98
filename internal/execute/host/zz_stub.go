package host

import "github.com/ebb-io/ebb/internal/retention"

type Failure struct {
	Step retention.Step
	Err  error
}
type Outcome struct {
	Deleted []retention.Step
	Names   int
	Freed   int64
	Failed, Refused []Failure
	Stopped error
}
