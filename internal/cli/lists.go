package cli

import "strings"

// List is a flag that may be given many times.
type List struct {
	Items []string
	// Parse checks an item; nil takes everything.
	Parse func(string) error
	// Commas says that no item can hold a comma, so that one may also stand
	// between items.
	Commas bool
	// Kind is what help calls an item.
	Kind string
}

// IsList marks the type for Configure.
func (*List) IsList() {}

// Type is for help.
func (l *List) Type() string { return l.Kind }

// String is for help, where an empty list is no default to speak of.
func (l *List) String() string { return strings.Join(l.Items, ",") }

// Set adds.
func (l *List) Set(s string) error {
	items := []string{s}
	if l.Commas {
		items = splitList(s)
	}
	for _, item := range items {
		if l.Parse != nil {
			if err := l.Parse(item); err != nil {
				return err
			}
		}
		l.Items = append(l.Items, item)
	}
	return nil
}

// Values are the items.
func (l *List) Values() []string { return l.Items }
