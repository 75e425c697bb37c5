import type { Part } from "./chunks.ts";
import type { StubbedPackages } from "./plugins.ts";

/** A program of this project and how to bundle it. */
export interface Executable {
  readonly name: string;
  readonly entry: string;
  readonly stubbed: StubbedPackages;
  /** Whether it tells others what its schemas mean. */
  readonly describesSchemas: boolean;
  /** Whether dynamic imports become files of their own, so that they do not delay the start. */
  readonly splits: boolean;
  /** Modules that are loaded together from one file. */
  readonly parts: readonly Part[];
  /**
   * The command that runs as a daemon, and its options of Node.js. Other commands end before the options would help.
   */
  readonly daemon?: { readonly command: string; readonly nodeOptions: readonly string[] };
  /** Whether it uses the libraries in the folder beside it, which a small system lacks. Programs that it starts use them too. */
  readonly hasLibraries?: true;
  /** Default values of environment variables. */
  readonly environment: Readonly<Record<string, string>>;
}

// Optional native modules of ws; Node.js now has the same functions built in.
const WS_NATIVES = ["bufferutil", "utf-8-validate"];

// Used by dockerode for ssh, BuildKit (gRPC) and image builds. The agent uses a unix socket and builds no images.
const DOCKERODE_EXTRAS = [
  "ssh2",
  "@grpc/grpc-js",
  "@grpc/proto-loader",
  "protobufjs",
  "tar-fs",
  "@balena/dockerignore",
];

// Another driver of pg, in C, and its sockets on another platform.
const PG_EXTRAS = ["pg-native", "pg-cloudflare"];

// Colours of debug's texts, and sensors of macOS.
const OPTIONAL_EXTRAS = ["supports-color", "osx-temperature-sensor", "macos-temperature-sensor"];

// Workers for pino's transports; the logs are written directly to a descriptor.
const PINO_WORKERS = ["thread-stream"];

// Under systemd, Node.js's experimental FFI is used; its warning would only clutter the log.
const QUIET = "--disable-warning=ExperimentalWarning";

// The agent mostly waits, on a machine with little memory. A small young generation, V8's lite mode (no optimizing
// compilers, no feedback kept for them) and one arena for malloc save 9 MB; what they cost in speed is lost in the time
// the container engine takes. Compiled code of a function that has not run for three collections of garbage is dropped,
// 2 MB, which an idle agent collects within a minute after work (`daemon/idle-gc.ts`). V8 makes no such collection during the
// start, 20 ms, since its heap is expected to grow to 20 MB. What else was measured:
// docs/decisions/0019-start-and-memory.md.
const LOW_MEMORY = {
  daemon: {
    command: "run",
    nodeOptions: [
      "--max-semi-space-size=1",
      "--lite-mode",
      "--expose-gc",
      "--bytecode-old-age=3",
      "--initial-old-space-size=20",
      QUIET,
    ],
  },
  environment: { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "65536" },
};

const COMMAND = ["src/agent/cli/main.ts", "src/agent/cli/status.ts"];
const DAEMON = ["src/agent/daemon/main.ts"];

/** The daemon loads all of these but `command`; a command the first ones, most of all `status`, for which a person waits. */
const AGENT_PARTS: readonly Part[] = [
  { name: "start", entries: ["src/agent/main.ts"] },
  { name: "shared", entries: COMMAND, sharedWith: DAEMON },
  { name: "command", entries: COMMAND },
  { name: "config", entries: ["src/agent/config/load.ts"] },
  { name: "engine", entries: ["src/agent/engine/docker/docker-engine.ts"] },
  { name: "link", entries: ["src/agent/link/uplink.ts"] },
  { name: "deployments", entries: ["src/agent/steps/deployments.ts"] },
  { name: "daemon", entries: DAEMON },
];

const PLAIN = { parts: [], environment: {} };

export const EXECUTABLES: readonly Executable[] = [
  {
    name: "edge-agent",
    entry: "src/agent/main.ts",
    stubbed: { absent: [...WS_NATIVES, ...OPTIONAL_EXTRAS], unused: [...DOCKERODE_EXTRAS, ...PINO_WORKERS] },
    describesSchemas: false,
    splits: true,
    parts: AGENT_PARTS,
    ...LOW_MEMORY,
  },
  {
    // Root's, with nothing but Node.js: see docs/decisions/0035-updates-of-the-agent.md.
    name: "edge-agent-update",
    entry: "src/updater/main.ts",
    stubbed: { absent: [], unused: [] },
    describesSchemas: false,
    splits: false,
    // As the agent's: the unit forbids a just-in-time compiler.
    daemon: { command: "handle", nodeOptions: ["--lite-mode"] },
    ...PLAIN,
  },
  {
    name: "edge-control",
    entry: "src/control-plane/main.ts",
    stubbed: { absent: [...WS_NATIVES, ...PG_EXTRAS], unused: PINO_WORKERS },
    describesSchemas: true,
    splits: true,
    daemon: { command: "serve", nodeOptions: [QUIET] },
    hasLibraries: true,
    ...PLAIN,
  },
  {
    name: "edgectl",
    entry: "src/edgectl/main.ts",
    stubbed: { absent: WS_NATIVES, unused: [] },
    describesSchemas: false,
    splits: false,
    ...PLAIN,
  },
];
