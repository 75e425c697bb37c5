import { existsSync } from "node:fs";
import { isEngineReachable } from "./engine.ts";
import { canInstall } from "./packages.ts";
import { findFakeTime, findProgram, findStaticBusybox } from "./programs.ts";

/** A requirement on the machine, and the Debian packages that provide it. */
export interface Requirement {
  readonly name: string;
  readonly purpose: string;
  readonly isPresent: () => boolean;
  /** Alternatives: the first one in the machine's package lists is installed. */
  readonly packages: readonly string[];
}

const program = (name: string, purpose: string, packages: readonly string[] = [name]): Requirement => ({
  name,
  purpose,
  isPresent: () => findProgram(name) !== undefined,
  packages,
});

/** A program that Podman starts, which is not on the search path. */
function podmanHelper(name: string, purpose: string): Requirement {
  const directories = ["/usr/libexec/podman", "/usr/lib/podman"];
  return { name, purpose, isPresent: () => directories.some((dir) => existsSync(`${dir}/${name}`)), packages: [name] };
}

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

/** A library of Node.js for device packages: this machine's own, or from a cross-compilation package. */
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
    // This file registers qemu with the kernel.
    isPresent: () => process.arch === "arm64" || existsSync("/usr/lib/binfmt.d/qemu-aarch64.conf"),
    packages: ["qemu-user-static", "qemu-user-binfmt"],
  },
] satisfies Requirement[];

const TESTS = [
  // In Debian 13 the docker command is a separate package.
  program("docker", "the engine's command, to compare with", ["docker-cli", "docker.io"]),
  program("docker-registry", "the registry that tests pull from"),
  program("nats-server", "the bus between instances of the control plane"),
  program("docker-compose", "runs the compose recipe of the control plane"),
  program("podman", "the second engine"),
  podmanHelper("netavark", "gives Podman's containers their networks"),
  podmanHelper("aardvark-dns", "lets Podman's containers find each other by name"),
  program("catatonit", "the init process of Podman's containers"),
  program("openssl", "certificates for TLS tests"),
  program("chromium", "opens an app's page as an operator does"),
  FAKE_TIME,
  ...PACKAGING,
  ...DEVICES,
];

/** The set of requirements of a script. */
export type Level = "engine" | "package" | "tests";

/** Returns the requirements of a level. An engine that already responds is used as it is. */
export async function requirementsFor(level: Level): Promise<Requirement[]> {
  if (level === "package") return PACKAGING;
  const engine = (await isEngineReachable()) ? [] : ENGINE;
  if (level === "tests") return [...engine, STATIC_BUSYBOX, ...TESTS];
  // The quickstart pulls a busybox image if none can be installed.
  return canInstall() ? [...engine, STATIC_BUSYBOX] : engine;
}
