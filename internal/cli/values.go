package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/report"
)

// Age is a flag that holds a duration, in days too.
type Age struct{ Value *time.Duration }

// String is for help.
func (a Age) String() string {
	if a.Value == nil { // pflag asks an empty one whether a default is zero
		return ""
	}
	return report.Age(*a.Value)
}

// Type is for help.
func (a Age) Type() string { return "AGE" }

// Set reads one.
func (a Age) Set(s string) (err error) {
	if err := slip(s); err != nil {
		return err
	}
	*a.Value, err = policy.ParseAge(s)
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

// Share is a flag that holds a part of a whole.
type Share struct{ Value *policy.Share }

// String is for help.
func (s Share) String() string {
	if s.Value == nil {
		return ""
	}
	return s.Value.String()
}

// Type is for help.
func (s Share) Type() string { return "SHARE" }

// Set reads one.
func (s Share) Set(text string) (err error) {
	*s.Value, err = policy.ParseShare(text)
	return err
}

// CheckGlob is the error of a pattern that is none.
func CheckGlob(s string) error {
	_, err := policy.ParseGlob(s)
	return err
}
