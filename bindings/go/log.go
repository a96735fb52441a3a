// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
)

// logger is where a store's log goes.
type logger struct{ to *slog.Logger }

func (l logger) slog() *slog.Logger {
	if l.to != nil {
		return l.to
	}
	return slog.Default()
}

func levelOf(level int) slog.Level {
	switch {
	case level >= 40:
		return slog.LevelError
	case level >= 30:
		return slog.LevelWarn
	case level >= 20:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// coreLevel is the least level that the logger wants, as a value of log.level.
func (l logger) coreLevel() string {
	if l.to == nil {
		return "warning"
	}
	for _, name := range []string{"debug", "info", "warning", "error"} {
		level := map[string]int{"debug": 10, "info": 20, "warning": 30, "error": 40}[name]
		if l.to.Enabled(context.Background(), levelOf(level)) {
			return name
		}
	}
	return "off"
}

// record writes a record of the core's.
func (l logger) record(level int, message, fields string) {
	to := l.slog()
	if !to.Enabled(context.Background(), levelOf(level)) {
		return
	}
	to.LogAttrs(context.Background(), levelOf(level), message, attributes(fields)...)
}

// attributes reads a JSON object of scalars, in its order.
func attributes(object string) []slog.Attr {
	var attrs []slog.Attr
	decoder := json.NewDecoder(bytes.NewReader([]byte(object)))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			break
		}
		value, err := decoder.Token()
		if err != nil {
			break
		}
		name, _ := key.(string)
		if number, ok := value.(json.Number); ok {
			if n, err := number.Int64(); err == nil {
				attrs = append(attrs, slog.Int64(name, n))
				continue
			}
		}
		attrs = append(attrs, slog.Any(name, value))
	}
	return attrs
}
