import type { ModuleImports } from "./imports.ts";

/** Import rules of a folder's modules. The first part that contains a module applies. */
interface Part {
  readonly folder: string;
  /** Other folders of the project that it may import. */
  readonly mayImport: readonly string[];
  /** Packages it may import. Absent: any package and built-in module. */
  readonly packages?: readonly string[] | undefined;
}

/** What each folder of the agent may import besides itself, `src/protocol/`, `src/lib/` and `core/`. */
const AGENT: Readonly<Record<string, readonly string[]>> = {
  net: [],
  engine: ["registry"],
  host: ["config"],
  config: [],
  registry: ["net"],
  store: [],
  ledger: ["host"],
  apps: ["engine", "store"],
  files: ["download", "engine", "host", "images", "ledger", "registry", "store"],
  contents: ["engine"],
  download: ["contents", "engine", "registry"],
  cleanup: ["engine", "host", "registry", "store"],
  images: ["cleanup", "download", "engine", "host", "ledger", "registry", "store"],
  link: ["config", "ledger", "net", "store"],
  steps: ["download", "engine", "files", "host", "images", "link", "registry", "store"],
  telemetry: [],
  live: ["apps", "engine", "host", "link", "store", "telemetry"],
  streams: ["apps", "engine", "link"],
  updates: ["download", "engine", "images", "ledger", "link", "registry", "steps", "store"],
  local: ["apps", "cleanup", "config", "engine", "host", "ledger", "link", "steps", "store"],
  service: ["config", "link", "store"],
  doctor: ["config", "engine", "host", "link", "net", "registry", "store", "updates"],
  enrolment: ["config", "doctor", "net"],
  support: ["config", "store"],
};

/**
 * The same of the control plane, where nothing that serves devices imports what serves clients.
 */
const CONTROL_PLANE: Readonly<Record<string, readonly string[]>> = {
  store: [],
  bus: [],
  images: [],
  data: ["store"],
  instances: ["bus", "store"],
  metrics: ["bus", "store"],
  events: ["bus", "store"],
  sealing: ["bus", "store"],
  releases: ["store"],
  uploads: ["instances", "releases", "store"],
  "sim-operator": ["sealing", "store"],
  // Interfaces of what it configures, and no more.
  config: ["images", "sim-operator", "store"],
  accounts: ["config", "metrics", "store"],
  // The address filter is that of images.
  alerts: ["accounts", "images", "instances", "sealing", "store"],
  // Sends as channels of alerts do.
  otlp: ["alerts", "config", "instances", "store"],
  assets: ["accounts", "instances", "metrics", "sim-operator", "store"],
  sims: ["accounts", "assets", "config", "instances", "sim-operator", "store"],
  devices: ["accounts", "bus", "config", "instances", "metrics", "store"],
  deployments: ["accounts", "bus", "devices", "instances", "store"],
  fleets: [
    "accounts",
    "bus",
    "deployments",
    "events",
    "images",
    "instances",
    "releases",
    "sealing",
    "store",
    "uploads",
  ],
  api: [
    "accounts",
    "alerts",
    "assets",
    "bus",
    "config",
    "deployments",
    "devices",
    "events",
    "fleets",
    "instances",
    "metrics",
    "releases",
    "sealing",
    "sim-operator",
    "sims",
    "store",
    "uploads",
  ],
  // Administration of the same data, also while the service is stopped.
  cli: ["accounts", "alerts", "assets", "config", "data", "releases", "sealing", "sim-operator", "sims", "store"],
};

/** Files of edgectl that all its folders may import: errors, exit codes, and what is outside the process. */
const EDGECTL_BASE = ["failure.ts", "io.ts"];

/** The same of edgectl: what is read and planned knows no view and no command; `runs` does what commands have in common. */
const EDGECTL: Readonly<Record<string, readonly string[]>> = {
  completion: [],
  documents: [],
  api: ["hints.ts"],
  config: ["api", "printer.ts"],
  deploy: ["api", "documents"],
  registry: ["deploy"],
  images: ["registry"],
  apply: ["deploy"],
  group: ["documents"],
  compose: ["documents", "group"],
  "group-file": ["compose", "documents", "group"],
  fleets: ["api", "apply", "compose", "deploy", "documents", "group", "group-file"],
  rollouts: ["api"],
  sims: ["api"],
  streams: ["api", "context.ts", "hints.ts"],
  views: ["api", "apply", "deploy", "fleets", "group", "images", "printer.ts", "rollouts", "sims"],
  runs: [
    "api",
    "apply",
    "confirm.ts",
    "context.ts",
    "deploy",
    "documents",
    "fleets",
    "group",
    "group-file",
    "hints.ts",
    "printer.ts",
    "rollouts",
    "views",
  ],
  commands: [
    "api",
    "apply",
    "completion",
    "config",
    "confirm.ts",
    "context.ts",
    "deploy",
    "fleets",
    "group-file",
    "images",
    "printer.ts",
    "registry",
    "runs",
    "sims",
    "streams",
    "views",
  ],
};

/** The same of the console. */
const CONSOLE: Readonly<Record<string, readonly string[]>> = {
  api: [],
  live: ["api"],
  parts: ["api"],
  session: ["api"],
  pages: ["api", "live", "parts", "session"],
  app: ["api", "live", "pages", "parts", "session"],
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

const CONSOLE_PACKAGES = [...BROWSER_PACKAGES, "zod"];

const PARTS: readonly Part[] = [
  { folder: "src/protocol/", mayImport: [], packages: ["zod"] },
  // Runs as root: nothing but Node.js and the formats of releases.
  {
    folder: "src/updater/",
    mayImport: [
      "src/lib/release/",
      "src/lib/error-text.ts",
      "src/protocol/agents/version-order.ts",
      "src/protocol/values/bounded-json.ts",
    ],
    packages: ["node:crypto", "node:fs", "node:path", "node:stream", "node:stream/promises", "node:zlib"],
  },
  {
    folder: "src/lib/release/",
    mayImport: ["src/lib/error-text.ts", "src/protocol/agents/version-order.ts", "src/protocol/values/bounded-json.ts"],
    packages: ["node:crypto", "node:fs", "node:path"],
  },
  { folder: "src/lib/", mayImport: ["src/protocol/"] },
  { folder: "src/agent/core/", mayImport: ["src/protocol/"], packages: [] },
  ...partsOf("src/agent/", AGENT),
  // The composition roots, daemon/ and cli/, and main.ts.
  { folder: "src/agent/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/control-plane/core/", mayImport: ["src/protocol/"], packages: [] },
  ...partsOf("src/control-plane/", CONTROL_PLANE),
  { folder: "src/control-plane/", mayImport: ["src/protocol/", "src/lib/"] },
  ...partsOf("src/edgectl/", EDGECTL, { base: EDGECTL_BASE.map((name) => `src/edgectl/${name}`) }),
  { folder: "src/edgectl/", mayImport: ["src/protocol/", "src/lib/"] },
  ...partsOf("src/console/", CONSOLE, { base: [], packages: CONSOLE_PACKAGES }),
  { folder: "src/console/", mayImport: ["src/protocol/"], packages: CONSOLE_PACKAGES },
];

/** Programs each of whose folders has a rule of its own. */
export const RULED_PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "control-plane": ["core", ...Object.keys(CONTROL_PLANE)],
  edgectl: Object.keys(EDGECTL),
  console: Object.keys(CONSOLE),
  agent: ["core", "daemon", "cli", ...Object.keys(AGENT)],
  // It has none.
  updater: [],
};

function partsOf(
  root: string,
  folders: Readonly<Record<string, readonly string[]>>,
  {
    base = [`${root}core/`],
    packages,
  }: { readonly base?: readonly string[]; readonly packages?: readonly string[] } = {},
): Part[] {
  return Object.entries(folders).map(([name, others]) => ({
    folder: `${root}${name}/`,
    mayImport: [
      "src/protocol/",
      ...(packages ? [] : ["src/lib/"]),
      ...base,
      ...others.map((other) => (other.endsWith(".ts") ? `${root}${other}` : `${root}${other}/`)),
    ],
    packages,
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
    "src/control-plane/config/database-config.ts",
  ],
  "src/control-plane/store/sql/": ["src/control-plane/store/"],
  "src/control-plane/bus/in-process-bus.ts": ["src/control-plane/main.ts"],
  // Who talks to a device does so through a gateway, wherever its session is, or through the store: see `DeviceDelivery`.
  "src/control-plane/devices/hub/hub.ts": ["src/control-plane/server.ts"],
  "src/control-plane/devices/hub/": ["src/control-plane/server.ts", "src/control-plane/devices/streams/"],
  "src/control-plane/devices/gateway/local-gateway.ts": [
    "src/control-plane/server.ts",
    "src/control-plane/devices/gateway/",
  ],
  "src/control-plane/devices/gateway/linked-gateway.ts": ["src/control-plane/server.ts"],
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
  "openid-client": "src/control-plane/accounts/oidc/",
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
