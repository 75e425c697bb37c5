import { basename, dirname, resolve } from "node:path";
import type { ProtectedPath } from "../core/policy/path-policy-input.ts";
import { LAUNCHER, PACKAGE_FOLDER, RELEASES_FOLDER, UPDATES_RUNTIME_FOLDER } from "../../lib/release/paths.ts";
import { localSocketPath, readOnlySocketPath, RUNTIME_SOCKET } from "./socket-path.ts";
import type { Config } from "./load.ts";

/** Sockets of container engines and their directories. Access to any of these grants root on the device. */
const ENGINE_PATHS = [
  "/run/docker.sock",
  "/var/run/docker.sock",
  "/run/docker",
  "/run/podman",
  "/var/run/podman",
  "/run/containerd",
  "/run/crio",
  "/run/buildkit",
  "/run/k3s",
  "/run/balena-engine.sock",
  "/run/cri-dockerd.sock",
];

/**
 * Access to these also grants root on the device. Some apps have good reasons to mount them, so they are protected only
 * if the policy restricts mounts: otherwise an app could mount /etc as well.
 */
const SYSTEM_PATHS = [
  // Images and container settings of the engines.
  "/var/lib/docker",
  "/var/lib/containers",
  "/var/lib/containerd",
  // Kernel settings, and the root directory of each process.
  "/proc",
  "/sys",
  // Device files are given with `devices`.
  "/dev",
  // The service manager, and other services on the system bus, execute root's requests.
  "/run/systemd",
  "/run/dbus",
  // Sockets of users' engines and service managers.
  "/run/user",
];

/** Returns the paths that grant an app root on the device or the agent's identity. */
export function listProtectedPaths(
  config: Config,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ProtectedPath[] {
  const { engine, state_dir, deploy, path, device_token_file, docker_config_file, extra_ca_file, registries } = config;
  const dockerHost = /^unix:\/\/(\/.*)$/.exec(environment["DOCKER_HOST"] ?? "")?.[1];
  const configFile = resolve(path);
  const always = [
    ...ENGINE_PATHS,
    engine.socket,
    dockerHost,
    dirname(RUNTIME_SOCKET),
    RUNTIME_SOCKET,
    readOnlySocketPath(RUNTIME_SOCKET),
    localSocketPath(config),
    readOnlySocketPath(localSocketPath(config)),
    state_dir,
    deploy.download_dir,
    UPDATES_RUNTIME_FOLDER,
    "/etc/edge-agent",
    configFile,
    // Only if the directory is the agent's own, unlike /etc.
    basename(dirname(configFile)) === "edge-agent" ? dirname(configFile) : undefined,
    device_token_file,
    docker_config_file,
    ...registries.map(({ password_file: file }) => file),
  ];
  // Certificates and programs are not secret, but writing them changes which servers are trusted, and what the agent does.
  const written = [
    RELEASES_FOLDER,
    PACKAGE_FOLDER,
    LAUNCHER,
    extra_ca_file,
    ...registries.map(({ ca_file: file }) => file),
  ];
  return [
    ...toProtectedPaths(always, "always"),
    ...toProtectedPaths(written, "written"),
    ...toProtectedPaths(SYSTEM_PATHS, "restricted"),
  ];
}

function toProtectedPaths(paths: readonly (string | undefined)[], when: ProtectedPath["when"]): ProtectedPath[] {
  const known = paths.filter((path) => path !== undefined).map((path) => resolve(path));
  return [...new Set(known)].map((path) => ({ path, when }));
}
