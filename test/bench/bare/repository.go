package bare

import "strings"

func (w *walker) repository(dir string) error {
	repo := &repository{dir: dir}
	w.regMu.Lock()
	w.reg.repositories = append(w.reg.repositories, repo)
	w.regMu.Unlock()
	var err error
	if repo.layers, err = w.links(dir + "/_layers"); err != nil {
		return err
	}
	if repo.revisions, err = w.links(dir + "/_manifests/revisions"); err != nil {
		return err
	}
	w.manifests(repo)
	return w.tags(repo)
}

// links looks at <dir>/<algorithm>/<hex>/link for every entry.
func (w *walker) links(dir string) ([]string, error) {
	algorithms, err := list(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, algorithm := range algorithms {
		names, err := w.linksOf(dir + "/" + algorithm)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			all = append(all, algorithm+"/"+name)
		}
	}
	return all, nil
}

// linksOf lists a directory once and shares the looking among the workers.
func (w *walker) linksOf(dir string) ([]string, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	w.each(len(names), func(i int) error { return d.lookAt(names[i] + "/link") })
	return names, nil
}

func (w *walker) manifests(repo *repository) {
	repo.manifests = make([][]byte, len(repo.revisions))
	w.each(len(repo.revisions), func(i int) error {
		data, err := read(w.reg.blobPath(repo.revisions[i]) + "/data")
		if w.keep {
			repo.manifests[i] = data
		}
		return err
	})
}

func (w *walker) tags(repo *repository) error {
	dir := repo.dir + "/_manifests/tags"
	names, err := list(dir)
	if err != nil {
		return err
	}
	repo.tagged = make([]string, len(names))
	w.each(len(names), func(i int) error {
		var err error
		repo.tagged[i], err = tag(dir + "/" + names[i])
		return err
	})
	return nil
}

// tag looks at every digest that a tag ever had and reads the one it has now.
func tag(dir string) (string, error) {
	algorithms, err := list(dir + "/index")
	if err != nil {
		return "", err
	}
	for _, algorithm := range algorithms {
		if _, err := lookAtEach(dir+"/index/"+algorithm, "link"); err != nil {
			return "", err
		}
	}
	link, err := read(dir + "/current/link")
	return strings.Replace(string(link), ":", "/", 1), err
}

func (r *Registry) blobPath(digest string) string {
	algorithm, hex, _ := strings.Cut(digest, "/")
	return r.root + "/blobs/" + algorithm + "/" + hex[:2] + "/" + hex
}
