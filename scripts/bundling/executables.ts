import type { LeftOut } from "./left-out.ts";

/** A program of this project, as it is bundled. */
export interface Executable {
  readonly name: string;
  readonly entry: string;
  readonly leftOut: LeftOut;
  /** Options of Node.js it runs with. */
  readonly nodeOptions: readonly string[];
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

export const EXECUTABLES: readonly Executable[] = [
  {
    name: "edge-agent",
    entry: "src/agent/main.ts",
    leftOut: { absent: WS_NATIVES, unused: DOCKERODE_EXTRAS },
    nodeOptions: [],
  },
  {
    name: "edge-control",
    entry: "src/control-plane/main.ts",
    leftOut: { absent: WS_NATIVES, unused: [] },
    nodeOptions: [],
  },
  { name: "edgectl", entry: "src/edgectl/main.ts", leftOut: { absent: [], unused: [] }, nodeOptions: [] },
];
