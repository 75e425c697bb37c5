import type { Command } from "commander";

export const REGISTRY_HELP = `
Without --registry-user or --registry-token-file, Docker's own logins are used (DOCKER_CONFIG, ~/.docker/config.json). The
password can also stand in EDGECTL_REGISTRY_PASSWORD. A server of edge-control is not needed.`;

/** Adds the options by which a command reaches a registry by itself. */
export function registryOptions(command: Command): Command {
  return command
    .option("--registry-user <name>", "user at the image's registry")
    .option("--registry-password-file <file>", "read the password from a file, - for standard input")
    .option("--registry-token-file <file>", "read a bearer token for the registry from a file, - for standard input")
    .option("--plain-http", "the registry has no TLS");
}
