import { engineAnswers } from "./engine.ts";
import { canInstall } from "./packages.ts";
import { findProgram, findStaticBusybox } from "./programs.ts";

/** Something this project needs from the machine, and the Debian packages that bring it. */
export interface Requirement {
  readonly name: string;
  readonly purpose: string;
  readonly present: () => boolean;
  /** The first one the machine's package lists know is installed. */
  readonly packages: readonly string[];
}

const program = (name: string, purpose: string, packages: readonly string[] = [name]): Requirement => ({
  name,
  purpose,
  present: () => findProgram(name) !== undefined,
  packages,
});

const STATIC_BUSYBOX: Requirement = {
  name: "a static busybox",
  purpose: "what the app images are built from",
  present: () => findStaticBusybox() !== undefined,
  packages: ["busybox-static"],
};

const ENGINE = [
  program("dockerd", "the container engine", ["docker.io"]),
  program("iptables", "the engine publishes ports with it"),
];

const TESTS = [
  // Debian 13 has the engine's command in a package of its own.
  program("docker", "the engine's command, to compare with", ["docker-cli", "docker.io"]),
  program("docker-registry", "the registry that tests pull from"),
  program("podman", "the second engine"),
  program("openssl", "certificates for TLS tests"),
  program("xz", "compresses what goes into device packages", ["xz-utils"]),
];

/** What the level needs. An engine that answers is taken as it is, whatever it was installed from. */
export async function requirementsFor(level: "engine" | "tests"): Promise<Requirement[]> {
  const engine = (await engineAnswers()) ? [] : ENGINE;
  if (level === "tests") return [...engine, STATIC_BUSYBOX, ...TESTS];
  // The quickstart pulls a busybox where none can be installed.
  return canInstall() ? [...engine, STATIC_BUSYBOX] : engine;
}
