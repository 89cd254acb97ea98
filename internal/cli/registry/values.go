package registry

import (
	"fmt"
	"strconv"
	"strings"
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
	if err := slip(s); err != nil {
		return err
	}
	*a.value, err = policy.ParseAge(s)
	return err
}

// slip finds what people write for an age that is none, and says what they mean.
func slip(s string) error {
	if strings.HasPrefix(s, "-") {
		return fmt.Errorf("age %s must not be negative", s)
	}
	for _, unit := range []struct {
		letter, name string
		days         uint64
	}{{"w", "weeks", 7}, {"y", "years", 365}} {
		number, ok := strings.CutSuffix(s, unit.letter)
		if n, err := strconv.ParseUint(number, 10, 16); ok && err == nil {
			return fmt.Errorf("age %q: %s are not known: write %dd", s, unit.name, n*unit.days)
		}
	}
	return nil
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

// rate is a flag that holds requests a second.
type rate struct{ value *float64 }

func (r rate) String() string {
	if r.value == nil {
		return ""
	}
	return strconv.FormatFloat(*r.value, 'f', -1, 64)
}

func (r rate) Type() string { return "N" }

func (r rate) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n == 0 || n >= 0.01 && n <= 1e6) {
		return fmt.Errorf("%q is no number of requests, such as 100", text)
	}
	*r.value = n
	return nil
}
