package engine

import "errors"

// What an engine's answers are told apart by.
var (
	// ErrNotFound says that the engine knows no such image.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the engine refuses: something needs the image.
	ErrConflict = errors.New("refused by the engine")
)
