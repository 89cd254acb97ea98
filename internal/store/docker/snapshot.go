package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/ebb-io/ebb/internal/engine"
)

// inspects is how many inspections run at a time.
const inspects = 8

// Snapshot is everything that the engine holds. Candidates are read first and
// the evidence of need last, so that what comes into use meanwhile is seen.
// Every error is ErrIncomplete.
func (e *Engine) Snapshot(ctx context.Context) (*engine.Snapshot, error) {
	s, err := e.snapshot(ctx)
	if err != nil {
		return nil, incomplete("%w", err)
	}
	return s, nil
}

func (e *Engine) snapshot(ctx context.Context) (*engine.Snapshot, error) {
	s := &engine.Snapshot{}
	var err error
	if s.Engine, err = within(ctx, listTimeout, e.again); err != nil {
		return nil, err
	}
	if s.Images, err = e.images(ctx); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	if s.Containers, err = e.containers(ctx); err != nil {
		return nil, fmt.Errorf("containers: %w", err)
	}
	if s.Engine.Manager {
		if s.Services, err = within(ctx, listTimeout, e.services); err != nil {
			return nil, fmt.Errorf("services: %w", err)
		}
	}
	return s, nil
}

// services are all of the swarm, with the images that they had before too: a
// roll-back needs those.
func (e *Engine) services(ctx context.Context) ([]engine.Service, error) {
	got, err := e.api.ServiceList(ctx, client.ServiceListOptions{})
	if err != nil {
		return nil, err
	}
	if got.Items == nil {
		return nil, errors.New("the answer is no list")
	}
	out := make([]engine.Service, 0, len(got.Items))
	for i := range got.Items {
		s, err := service(&got.Items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b engine.Service) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func service(s *swarm.Service) (engine.Service, error) {
	if s.ID == "" || s.Spec.Name == "" {
		return engine.Service{}, errors.New("a service without an ID or a name")
	}
	out := engine.Service{Name: s.Spec.Name}
	for _, spec := range []*swarm.ServiceSpec{&s.Spec, s.PreviousSpec} {
		if spec != nil && spec.TaskTemplate.ContainerSpec != nil && spec.TaskTemplate.ContainerSpec.Image != "" {
			out.Images = append(out.Images, spec.TaskTemplate.ContainerSpec.Image)
		}
	}
	return out, nil
}
