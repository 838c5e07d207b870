// Package deploy has the manifests, and their test.
package deploy

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifests are read as Kubernetes documents them: a field that is not there, or stands twice, is an error.
func manifests(t *testing.T) (d appsv1.Deployment, b policyv1.PodDisruptionBudget) {
	t.Helper()
	text, err := os.ReadFile("service.yaml")
	require.NoError(t, err)
	parts := bytes.Split(text, []byte("\n---\n"))
	require.Len(t, parts, 2)
	for i, into := range []any{&d, &b} {
		require.NoError(t, yaml.UnmarshalStrict(parts[i], into))
	}
	return d, b
}

func TestAFieldThatKubernetesDoesNotHaveIsFound(t *testing.T) {
	text, err := os.ReadFile("service.yaml")
	require.NoError(t, err)
	for _, field := range []string{"terminationGracePeriodSeconds", "readinessProbe", "httpGet", "replicas"} {
		wrong := bytes.Replace(text, []byte(field+":"), []byte(field+"x:"), 1)
		require.ErrorContains(t, yaml.UnmarshalStrict(bytes.Split(wrong, []byte("\n---\n"))[0], new(appsv1.Deployment)), field)
	}
}

func TestTheObjectsAreOneAnothers(t *testing.T) {
	d, b := manifests(t)
	require.Equal(t, metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, d.TypeMeta)
	require.Equal(t, metav1.TypeMeta{Kind: "PodDisruptionBudget", APIVersion: "policy/v1"}, b.TypeMeta)
	labels := d.Spec.Template.Labels
	require.NotEmpty(t, labels)
	pod := d.Spec.Template.Spec
	for _, selector := range []*metav1.LabelSelector{d.Spec.Selector, b.Spec.Selector, pod.TopologySpreadConstraints[0].LabelSelector} {
		require.Equal(t, labels, selector.MatchLabels)
	}
	require.EqualValues(t, 3, *d.Spec.Replicas)
	require.Less(t, b.Spec.MaxUnavailable.IntVal, *d.Spec.Replicas)
}

func TestTheTimesFitTheSessionTimeout(t *testing.T) {
	d, _ := manifests(t)
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "-session-timeout=") })
	require.GreaterOrEqual(t, i, 0)
	session, err := time.ParseDuration(strings.TrimPrefix(c.Args[i], "-session-timeout="))
	require.NoError(t, err)
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	require.Greater(t, grace, 2*session, "the work needs time to end, and the leadership one session timeout to be given back")
}

func TestTheProbesAreTheServices(t *testing.T) {
	d, _ := manifests(t)
	c := d.Spec.Template.Spec.Containers[0]
	require.Equal(t, "/livez", c.LivenessProbe.HTTPGet.Path)
	require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		require.Equal(t, c.Ports[0].Name, probe.HTTPGet.Port.StrVal)
		require.Less(t, 2*time.Second, time.Duration(probe.TimeoutSeconds)*time.Second, "the service answers first")
	}
	require.NotContains(t, c.Resources.Limits, corev1.ResourceCPU)
}
