import { existsSync } from "node:fs";
import { isEngineReachable } from "./engine.ts";
import { canInstall } from "./packages.ts";
import { findFakeTime, findProgram, findStaticBusybox } from "./programs.ts";

/** Something this project needs from the machine, and the Debian packages that bring it. */
export interface Requirement {
  readonly name: string;
  readonly purpose: string;
  readonly isPresent: () => boolean;
  /** The first one the machine's package lists know is installed. */
  readonly packages: readonly string[];
}

const program = (name: string, purpose: string, packages: readonly string[] = [name]): Requirement => ({
  name,
  purpose,
  isPresent: () => findProgram(name) !== undefined,
  packages,
});

const STATIC_BUSYBOX: Requirement = {
  name: "a static busybox",
  purpose: "what the app images are built from",
  isPresent: () => findStaticBusybox() !== undefined,
  packages: ["busybox-static"],
};

const ENGINE = [
  program("dockerd", "the container engine", ["docker.io"]),
  program("iptables", "the engine publishes ports with it"),
];

const PACKAGING = [
  program("dpkg-deb", "makes the device packages", ["dpkg"]),
  program("xz", "compresses what goes into device packages", ["xz-utils"]),
  program("patchelf", "lets the packaged Node.js find its libraries"),
  program("x86_64-linux-gnu-strip", "takes the symbols out of Node.js", ["binutils-x86-64-linux-gnu"]),
  program("aarch64-linux-gnu-strip", "takes the symbols out of Node.js", ["binutils-aarch64-linux-gnu"]),
  libatomic("x86_64-linux-gnu", "amd64"),
  libatomic("aarch64-linux-gnu", "arm64"),
];

/** A library Node.js needs, for the packages of an architecture: the machine's own, or one made for cross-compiling. */
function libatomic(triplet: string, architecture: "amd64" | "arm64"): Requirement {
  const isOwn = process.arch === (architecture === "amd64" ? "x64" : "arm64");
  return {
    name: `libatomic for ${architecture}`,
    purpose: "Node.js on devices needs it",
    isPresent: () => [`/usr/lib/${triplet}`, `/usr/${triplet}/lib`].some((dir) => existsSync(`${dir}/libatomic.so.1`)),
    packages: [isOwn ? "libatomic1" : `libatomic1-${architecture}-cross`],
  };
}

const FAKE_TIME: Requirement = {
  name: "libfaketime",
  purpose: "a device whose clock stands in 1970",
  isPresent: () => findFakeTime() !== undefined,
  packages: ["libfaketime"],
};

const DEVICES = [
  program("mmdebstrap", "makes the devices that the packages are tested on"),
  program("arch-test", "devices of another architecture"),
  {
    name: "qemu for arm64",
    purpose: "runs a device with an ARM processor",
    // The kernel is told by this file how to run its programs.
    isPresent: () => process.arch === "arm64" || existsSync("/usr/lib/binfmt.d/qemu-aarch64.conf"),
    packages: ["qemu-user-static", "qemu-user-binfmt"],
  },
] satisfies Requirement[];

const TESTS = [
  // Debian 13 has the engine's command in a package of its own.
  program("docker", "the engine's command, to compare with", ["docker-cli", "docker.io"]),
  program("docker-registry", "the registry that tests pull from"),
  program("podman", "the second engine"),
  program("openssl", "certificates for TLS tests"),
  FAKE_TIME,
  ...PACKAGING,
  ...DEVICES,
];

/** How much of the machine a script needs. */
export type Level = "engine" | "package" | "tests";

/** What the level needs. An engine that answers is taken as it is, whatever it was installed from. */
export async function requirementsFor(level: Level): Promise<Requirement[]> {
  if (level === "package") return PACKAGING;
  const engine = (await isEngineReachable()) ? [] : ENGINE;
  if (level === "tests") return [...engine, STATIC_BUSYBOX, ...TESTS];
  // The quickstart pulls a busybox where none can be installed.
  return canInstall() ? [...engine, STATIC_BUSYBOX] : engine;
}
