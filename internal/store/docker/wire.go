package docker

import (
	"encoding/binary"
	"errors"
	"time"
)

// errWire is a message that does not follow protobuf's encoding.
var errWire = errors.New("malformed message")

// field is one of a message: a number or bytes.
type field struct {
	id     uint64
	number uint64
	bytes  []byte
}

// fields reads a message of protobuf. Fixed-width fields are passed over.
func fields(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

func next(message []byte) (field, []byte, error) {
	key, rest, err := varint(message)
	if err != nil {
		return field{}, nil, err
	}
	f := field{id: key >> 3}
	size := uint64(0)
	switch key & 7 {
	case 0:
		f.number, rest, err = varint(rest)
		return f, rest, err
	case 1:
		size = 8
	case 5:
		size = 4
	case 2:
		if size, rest, err = varint(rest); err != nil {
			return field{}, nil, err
		}
	default:
		return field{}, nil, errWire
	}
	if size > uint64(len(rest)) {
		return field{}, nil, errWire
	}
	f.bytes = rest[:size]
	return f, rest[size:], nil
}

func varint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errWire
	}
	return v, b[n:], nil
}

// decodeLeases reads a ListResponse: field 1 repeats a lease.
func decodeLeases(message []byte) ([]lease, error) {
	var out []lease
	err := fields(message, func(f field) error {
		if f.id != 1 {
			return nil
		}
		l, err := decodeLease(f.bytes)
		out = append(out, l)
		return err
	})
	return out, err
}

// decodeLease reads a Lease: 1 its ID, 2 when it was made, 3 its labels.
func decodeLease(message []byte) (l lease, err error) {
	err = fields(message, func(f field) (err error) {
		switch f.id {
		case 1:
			l.id = string(f.bytes)
		case 2:
			l.created, err = decodeTime(f.bytes)
		case 3:
			key := ""
			key, err = decodeKey(f.bytes)
			l.pull = l.pull || key == pullLabel
		}
		return err
	})
	if err == nil && l.id == "" {
		err = errWire
	}
	return l, err
}

// decodeTime reads a Timestamp: 1 the seconds, 2 the nanoseconds.
func decodeTime(message []byte) (time.Time, error) {
	var seconds, nanos int64
	err := fields(message, func(f field) error {
		switch f.id {
		case 1:
			seconds = int64(f.number)
		case 2:
			nanos = int64(f.number)
		}
		return nil
	})
	if nanos < 0 || nanos >= int64(time.Second) {
		err = errWire
	}
	return time.Unix(seconds, nanos).UTC(), err
}

// decodeKey reads the key of an entry of a map.
func decodeKey(message []byte) (key string, err error) {
	err = fields(message, func(f field) error {
		if f.id == 1 {
			key = string(f.bytes)
		}
		return nil
	})
	return key, err
}
