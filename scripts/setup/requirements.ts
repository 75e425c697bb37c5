import { existsSync } from "node:fs";
import { findFakeTime, findPostgresFolder, findProgram, findStaticBusybox } from "./programs.ts";

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

/** What scripts and tests need of the machine, by the name under which they ask for it. */
export const REQUIREMENTS = {
  engine: [
    program("dockerd", "the container engine", ["docker.io"]),
    program("iptables", "the engine publishes ports with it"),
  ],
  busybox: [
    {
      name: "a static busybox",
      purpose: "what the app images are built from",
      isPresent: () => findStaticBusybox() !== undefined,
      packages: ["busybox-static"],
    },
  ],
  // In Debian 13 the docker command is a separate package.
  "docker-command": [program("docker", "the engine's command, to compare with", ["docker-cli", "docker.io"])],
  "docker-compose": [program("docker-compose", "runs the compose recipe of the control plane")],
  registry: [program("docker-registry", "the registry that tests pull from")],
  podman: [
    program("podman", "the second engine"),
    podmanHelper("netavark", "gives Podman's containers their networks"),
    podmanHelper("aardvark-dns", "lets Podman's containers find each other by name"),
    program("catatonit", "the init process of Podman's containers"),
    program("slirp4netns", "the network of a rootless Podman"),
    program("newuidmap", "the users of a rootless Podman", ["uidmap"]),
  ],
  nginx: [program("nginx", "the reverse proxy in front of the control plane")],
  nats: [program("nats-server", "the bus between instances of the control plane")],
  postgresql: [
    {
      name: "PostgreSQL",
      purpose: "the database of a control plane with several instances",
      isPresent: () => findPostgresFolder() !== undefined,
      packages: ["postgresql"],
    },
  ],
  prometheus: [
    program("prometheus", "scrapes the metrics of the control plane"),
    program("promtool", "checks the alert rules", ["prometheus"]),
  ],
  dbus: [
    program("dbus-daemon", "a bus of its own for tests", ["dbus-daemon", "dbus"]),
    program("busctl", "calls of D-Bus, as on devices", ["systemd"]),
    {
      name: "python3-dbusmock",
      purpose: "stands in for services of the system, such as ModemManager",
      isPresent: () => existsSync("/usr/lib/python3/dist-packages/dbusmock"),
      packages: ["python3-dbusmock"],
    },
  ],
  openssl: [program("openssl", "certificates for TLS tests")],
  chromium: [program("chromium", "opens the console as an operator does")],
  faketime: [
    {
      name: "libfaketime",
      purpose: "a device whose clock stands in 1970",
      isPresent: () => findFakeTime() !== undefined,
      packages: ["libfaketime"],
    },
  ],
  packaging: [
    program("dpkg-deb", "makes the device packages", ["dpkg"]),
    program("xz", "compresses what goes into device packages", ["xz-utils"]),
    program("patchelf", "lets the packaged Node.js find its libraries"),
    program("x86_64-linux-gnu-strip", "takes the symbols out of Node.js", ["binutils-x86-64-linux-gnu"]),
    program("aarch64-linux-gnu-strip", "takes the symbols out of Node.js", ["binutils-aarch64-linux-gnu"]),
    libatomic("x86_64-linux-gnu", "amd64"),
    libatomic("aarch64-linux-gnu", "arm64"),
  ],
  devices: [program("mmdebstrap", "makes the devices that the packages are tested on")],
  arm64: [
    program("arch-test", "devices of another architecture"),
    {
      name: "qemu for arm64",
      purpose: "runs a device with an ARM processor",
      // This file registers qemu with the kernel.
      isPresent: () => process.arch === "arm64" || existsSync("/usr/lib/binfmt.d/qemu-aarch64.conf"),
      packages: ["qemu-user-static", "qemu-user-binfmt"],
    },
  ],
} satisfies Record<string, readonly Requirement[]>;

/** The name of a group of requirements. */
export type Need = keyof typeof REQUIREMENTS;
