import type { StubbedPackages } from "./plugins.ts";

/** A program of this project, as it is bundled. */
export interface Executable {
  readonly name: string;
  readonly entry: string;
  readonly stubbed: StubbedPackages;
  /** Puts what it imports when it needs it into files of their own, so that nothing else waits for that to be read. */
  readonly splits: boolean;
  /** The command that stays, and the options of Node.js it runs with. The others are over before they would help. */
  readonly daemon?: { readonly command: string; readonly nodeOptions: readonly string[] };
  /** Variables it runs with, unless the environment says otherwise. */
  readonly environment: Readonly<Record<string, string>>;
}

// ws uses these native modules when they happen to be installed; Node.js has the same built in by now.
const WS_NATIVES = ["bufferutil", "utf-8-validate"];

// dockerode's ways to an engine over ssh and to BuildKit over gRPC, and what it builds images with. The agent speaks to
// a unix socket and builds none.
const DOCKERODE_EXTRAS = [
  "ssh2",
  "@grpc/grpc-js",
  "@grpc/proto-loader",
  "protobufjs",
  "tar-fs",
  "@balena/dockerignore",
];

// Workers for pino's transports; the logs go straight to a descriptor.
const PINO_WORKERS = ["thread-stream"];

// Of Node.js's experiments the calls to the C library are used, under systemd; that concerns nobody who reads the log.
const QUIET = "--disable-warning=ExperimentalWarning";

// The agent mostly waits, on a machine with little memory. A small young generation, V8's lite mode (no optimizing
// compilers, no feedback kept for them) and one arena for malloc save 9 MB; what they cost in speed is lost in the time
// the container engine takes.
const LOW_MEMORY = {
  daemon: {
    command: "run",
    nodeOptions: ["--max-semi-space-size=1", "--lite-mode", "--expose-gc", QUIET],
  },
  environment: { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "65536" },
};

const PLAIN = { environment: {} };

export const EXECUTABLES: readonly Executable[] = [
  {
    name: "edge-agent",
    entry: "src/agent/main.ts",
    stubbed: { absent: WS_NATIVES, unused: [...DOCKERODE_EXTRAS, ...PINO_WORKERS] },
    splits: true,
    ...LOW_MEMORY,
  },
  {
    name: "edge-control",
    entry: "src/control-plane/main.ts",
    stubbed: { absent: WS_NATIVES, unused: PINO_WORKERS },
    splits: true,
    daemon: { command: "serve", nodeOptions: [QUIET] },
    ...PLAIN,
  },
  { name: "edgectl", entry: "src/edgectl/main.ts", stubbed: { absent: [], unused: [] }, splits: false, ...PLAIN },
];
