import { beforeAll, expect, it } from "vitest";
import { type Manifest, manifestErrors, readManifests } from "../support/repo/kubernetes.ts";

/** The longest time in which devices are told to reconnect, and what the end of open requests may take. */
const GOODBYE_S = 30;
const DRAIN_S = 3;
const FOLDER = "packaging/recipes/kubernetes";

type Labels = Readonly<Record<string, string>>;

interface PodSpec {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly {
    readonly image: string;
    readonly ports?: readonly { readonly name: string }[];
    readonly volumeMounts: readonly { readonly name: string }[];
    readonly livenessProbe?: {
      readonly httpGet: { readonly path: string };
      readonly periodSeconds?: number;
      readonly timeoutSeconds?: number;
      readonly failureThreshold?: number;
      readonly terminationGracePeriodSeconds?: number;
    };
  }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly configMap?: { readonly name: string };
    readonly secret?: { readonly secretName: string };
  }[];
}

interface Workload extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  };
}

interface Service extends Manifest {
  readonly spec: { readonly selector: Labels; readonly ports: readonly { readonly targetPort: string }[] };
}

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await readManifests(FOLDER);
});

const find = (kind: string): Manifest => {
  const [found, ...others] = manifests.filter((manifest) => manifest.kind === kind);
  if (!found || others.length > 0) throw new Error(`expected one ${kind}`);
  return found;
};
const workload = (kind: string): Workload => find(kind) as Workload;
const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);

it("every object is valid for the Kubernetes API, without fields that it does not know", async () => {
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual([
    "ConfigMap",
    "Deployment",
    "Job",
    "PodDisruptionBudget",
    "Secret",
    "Service",
  ]);
  expect(await manifestErrors(manifests)).toEqual([]);
});

it("the check refuses a wrong type, a missing field and a misspelt field", async () => {
  const deployment = workload("Deployment");
  const changed = (spec: object): Manifest => ({ ...deployment, spec: { ...deployment.spec, ...spec } }) as Manifest;
  expect((await manifestErrors([changed({ replicas: "two" })])).join()).toMatch(/replicas must be integer/);
  expect((await manifestErrors([changed({ selector: undefined })])).join()).toMatch(/selector/);
  expect((await manifestErrors([changed({ minReadySecond: 15 })])).join()).toMatch(/minReadySecond/);
});

it("the service and the disruption budget select the instances, and not the migration", () => {
  const [deployment, job] = [workload("Deployment"), workload("Job")];
  const { labels } = deployment.spec.template.metadata;
  const service = find("Service") as Service;
  const budget = workload("PodDisruptionBudget");
  const selectors = [deployment.spec.selector.matchLabels, service.spec.selector, budget.spec.selector.matchLabels];
  for (const selector of selectors) {
    expect(matches(selector, labels)).toBe(true);
    expect(matches(selector, job.spec.template.metadata.labels)).toBe(false);
  }
});

it("every volume, port and image that is referred to exists", () => {
  const service = find("Service") as Service;
  const pods = [workload("Deployment"), workload("Job")].map(({ spec }) => spec.template.spec);
  for (const { containers, volumes } of pods) {
    const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
    expect(mounts.toSorted()).toEqual(volumes.map(({ name }) => name).toSorted());
    const configMaps = volumes.flatMap(({ configMap }) => configMap?.name ?? []);
    const secrets = volumes.flatMap(({ secret }) => secret?.secretName ?? []);
    expect(configMaps).toEqual([find("ConfigMap").metadata.name]);
    expect(secrets).toEqual([find("Secret").metadata.name]);
  }
  const ports = pods[0]?.containers.flatMap(({ ports: named = [] }) => named.map(({ name }) => name)) ?? [];
  for (const { targetPort } of service.spec.ports) expect(ports).toContain(targetPort);
  expect(new Set(pods.flatMap(({ containers }) => containers.map(({ image }) => image))).size).toBe(1);
});

it("a pod has time for its delay, the goodbye to its devices and its open requests", () => {
  const { data } = find("ConfigMap") as Manifest & { readonly data: Labels };
  const { stop_delay_s: delayS } = JSON.parse(data["config.json"] ?? "") as { stop_delay_s: number };
  const { terminationGracePeriodSeconds = 0 } = workload("Deployment").spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delayS + GOODBYE_S + DRAIN_S);
});

it("a pod that does not respond is killed within 20 s, and at once", () => {
  const [container] = workload("Deployment").spec.template.spec.containers;
  const { periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3, ...probe } = container?.livenessProbe ?? {};
  expect(periodSeconds * failureThreshold + timeoutSeconds).toBeLessThanOrEqual(20);
  expect(probe).toMatchObject({ httpGet: { path: "/healthz" }, terminationGracePeriodSeconds: 1 });
});
