package metrics

import "github.com/prometheus/client_golang/prometheus"

// prefix is of every metric but build_info.
const prefix = "ebb_host_"

func register[T prometheus.Collector](m *Metrics, c T) T {
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return register(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help}))
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels))
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return register(m, prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help}))
}

func (m *Metrics) counters(name, help, label string) *prometheus.CounterVec {
	return register(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label}))
}
