import type { ModuleImports } from "./imports.ts";

/** Import rules of a folder's modules. The first part that contains a module applies. */
interface Part {
  readonly folder: string;
  /** Other folders of the project that it may import. */
  readonly mayImport: readonly string[];
  /** Packages it may import. Absent: any package and built-in module. */
  readonly packages?: readonly string[];
}

/** What each folder of the agent may import besides itself, `src/protocol/`, `src/lib/` and `core/`. No rings. */
const AGENT: Readonly<Record<string, readonly string[]>> = {
  net: [],
  engine: ["registry"],
  host: ["config"],
  config: [],
  registry: ["net"],
  store: [],
  ledger: ["host"],
  apps: ["engine", "store"],
  files: ["engine", "host", "store"],
  contents: ["engine"],
  download: ["contents", "engine", "registry"],
  cleanup: ["engine", "host", "registry", "store"],
  images: ["cleanup", "download", "engine", "host", "ledger", "registry", "store"],
  link: ["config", "ledger", "net", "store"],
  steps: ["download", "engine", "files", "host", "images", "link", "registry", "store"],
  telemetry: [],
  live: ["apps", "engine", "host", "link", "store", "telemetry"],
  streams: ["apps", "engine", "link"],
  local: ["apps", "cleanup", "config", "engine", "host", "ledger", "link", "steps", "store"],
  service: ["config", "link", "store"],
  doctor: ["config", "engine", "host", "link", "net", "registry", "store"],
  enrolment: ["config", "doctor", "net"],
  support: ["config", "store"],
};

/** The same of the control plane, where nothing that serves devices imports what serves clients. */
const CONTROL_PLANE: Readonly<Record<string, readonly string[]>> = {
  store: [],
  bus: [],
  devices: [],
  "sim-operator": ["sealing", "store"],
  "usage-import": ["store"],
  data: ["store"],
  gateway: ["bus", "devices"],
  metrics: ["bus", "store"],
  events: ["bus", "store"],
  // The observer's interface.
  queries: ["devices", "gateway", "metrics"],
  reports: ["devices", "store"],
};

/** Packages that run in a browser. */
const BROWSER_PACKAGES = [
  "react",
  "react-dom",
  "react-router",
  "@mantine/core",
  "@mantine/hooks",
  "@tanstack/react-query",
  "@tanstack/react-virtual",
  "uplot",
] as const;

const PARTS: readonly Part[] = [
  { folder: "src/protocol/", mayImport: [], packages: ["zod"] },
  { folder: "src/lib/", mayImport: ["src/protocol/"] },
  { folder: "src/agent/core/", mayImport: ["src/protocol/"], packages: [] },
  ...partsOf("src/agent/", AGENT),
  // The composition roots, daemon/ and cli/, and main.ts.
  { folder: "src/agent/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/control-plane/core/", mayImport: ["src/protocol/"], packages: [] },
  ...partsOf("src/control-plane/", CONTROL_PLANE),
  { folder: "src/control-plane/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/edgectl/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/console/", mayImport: ["src/protocol/"], packages: [...BROWSER_PACKAGES, "zod"] },
];

function partsOf(root: string, folders: Readonly<Record<string, readonly string[]>>): Part[] {
  return Object.entries(folders).map(([name, others]) => ({
    folder: `${root}${name}/`,
    mayImport: ["src/protocol/", "src/lib/", `${root}core/`, ...others.map((other) => `${root}${other}/`)],
  }));
}

/** Implementations of an interface, and who may choose them. */
const CHOSEN_BY: Readonly<Record<string, readonly string[]>> = {
  "src/agent/engine/docker/": ["src/agent/daemon/", "src/agent/cli/main.ts"],
  "src/agent/host/linux-host.ts": ["src/agent/daemon/", "src/agent/cli/main.ts"],
  "src/agent/store/sqlite-store.ts": ["src/agent/store/open-store.ts", "src/agent/cli/main.ts"],
  "src/agent/registry/oci-client.ts": ["src/agent/daemon/"],
  "src/agent/download/image-downloader.ts": ["src/agent/daemon/"],
  "src/agent/images/image-provider.ts": ["src/agent/daemon/"],
  "src/control-plane/store/sqlite/": [
    "src/control-plane/main.ts",
    "src/control-plane/database-commands.ts",
    "src/control-plane/data/",
  ],
  "src/control-plane/store/postgres/": [
    "src/control-plane/main.ts",
    "src/control-plane/database-commands.ts",
    "src/control-plane/data/",
    "src/control-plane/cli/",
    // The type of its options only.
    "src/control-plane/database-config.ts",
  ],
  "src/control-plane/store/sql/": ["src/control-plane/store/"],
  "src/control-plane/bus/in-process-bus.ts": ["src/control-plane/main.ts"],
  // Who talks to a device does so through a gateway, wherever its session is, or through the store: see `DeviceDelivery`.
  "src/control-plane/hub/hub.ts": ["src/control-plane/server.ts"],
  "src/control-plane/gateway/local-gateway.ts": ["src/control-plane/server.ts", "src/control-plane/gateway/"],
  "src/control-plane/gateway/linked-gateway.ts": ["src/control-plane/server.ts"],
  "src/control-plane/bus/nats/": ["src/control-plane/main.ts"],
  // Everything else knows the observer only: prom-client is loaded with these.
  ...Object.fromEntries(
    ["metrics", "service-metrics", "observe-store", "observe-deployments", "collected", "listener"].map((name) => [
      `src/control-plane/metrics/${name}.ts`,
      ["src/control-plane/metrics/", "src/control-plane/main.ts"],
    ]),
  ),
  "src/control-plane/sim-operator/stored-sim-operator.ts": ["src/control-plane/main.ts"],
  // Everything else knows the interface of an operator.
  ...Object.fromEntries(
    ["super-sim/super-sim-operator", "emnify/emnify-operator"].map((name) => [
      `src/control-plane/sim-operator/${name}.ts`,
      ["src/control-plane/sim-operator/operator-pool.ts"],
    ]),
  ),
};

/** Packages that one folder alone may know, so that another one can take their place. */
const OWNERS: Readonly<Record<string, string>> = {
  dockerode: "src/agent/engine/docker/",
  "@nats-io/transport-node": "src/control-plane/bus/nats/",
  pg: "src/control-plane/store/postgres/",
  systeminformation: "src/agent/telemetry/",
  "prom-client": "src/control-plane/metrics/",
  "openid-client": "src/control-plane/people/oidc/",
  "@fastify/static": "src/control-plane/api/console/",
  ...Object.fromEntries(BROWSER_PACKAGES.map((name) => [name, "src/console/"])),
};

/** Every folder a rule names. */
export const RULED_FOLDERS: readonly string[] = [
  ...PARTS.flatMap(({ folder, mayImport }) => [folder, ...mayImport]),
  ...Object.values(OWNERS),
  ...Object.entries(CHOSEN_BY).flat(2),
];

/** The ways in which a module of src/ breaks the layout's rules, one sentence each. */
export function violations({ path, files, packages }: ModuleImports): string[] {
  const part = PARTS.find(({ folder }) => path.startsWith(folder));
  if (!part) return [`${path} is in no folder of the layout`];
  const reachable = [part.folder, ...part.mayImport];
  return [
    ...files.filter((file) => !reachable.some((folder) => file.startsWith(folder))),
    ...packages.filter((name) => part.packages?.includes(name) === false),
    ...packages.filter((name) => OWNERS[name] !== undefined && !path.startsWith(OWNERS[name])),
    ...files.filter((file) => !mayChoose(path, file)),
  ].map((target) => `${path} must not import ${target}`);
}

function mayChoose(path: string, target: string): boolean {
  return Object.entries(CHOSEN_BY).every(
    ([implementation, choosers]) =>
      !target.startsWith(implementation) || [implementation, ...choosers].some((place) => path.startsWith(place)),
  );
}
