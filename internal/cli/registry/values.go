package registry

import (
	"fmt"
	"strconv"
)

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
