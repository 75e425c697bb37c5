import type { Need } from "../setup/requirements.ts";
import { EXECUTABLES, type Modules, reachable } from "./modules.ts";

/** What a test file needs beside npm packages: programs of the machine, or this project's executables in dist/. */
export type TestNeed = Need | "executables";

/**
 * What modules need that start programs. A test file needs what all the modules that it reaches need.
 * test/repo/test-needs.test.ts finds modules that are missing here.
 */
export const NEEDS: Readonly<Record<string, readonly TestNeed[]>> = {
  [EXECUTABLES]: ["executables"],
  "scripts/packaging/build-package.ts": ["executables", "packaging"],
  "test/support/bus/nats-server.ts": ["nats"],
  "test/support/browser/browser.ts": ["chromium"],
  "test/support/device/device-engine.ts": ["devices", "docker-command", "engine"],
  "test/support/device/device-image.ts": ["devices", "engine"],
  "test/support/device/device.ts": ["docker-command"],
  "test/support/device/emulate-arm64.ts": ["arm64"],
  "test/support/mock-modem-manager.ts": ["dbus"],
  "test/support/docker-socket.ts": ["engine"],
  "test/support/images/busybox.ts": ["busybox"],
  "test/support/link/certificates.ts": ["openssl"],
  "test/support/monitoring/prometheus.ts": ["prometheus"],
  "test/support/outside-host.ts": ["busybox", "engine"],
  "test/support/podman-service.ts": ["podman"],
  "test/support/postgres.ts": ["postgresql"],
  "test/support/private-engine.ts": ["engine"],
  "test/support/private-engine/current-docker.ts": ["engine"],
  "test/support/private-engine/forward-packets.ts": ["engine"],
  "test/support/recipes/compose-project.ts": ["docker-command", "docker-compose", "engine"],
  "test/support/registry.ts": ["registry"],
  "test/support/reverse-proxy.ts": ["nginx"],
  "test/support/rootless-podman.ts": ["podman"],
  "test/support/system/agent-image.ts": ["docker-command"],
  "test/bench/bad-link.ts": ["docker-command"],
  "test/bench/compose-files/compare.ts": ["docker-compose", "engine"],
  "test/bench/deploy-present.ts": ["docker-command"],
  "test/bench/deploy-pull.ts": ["docker-command"],
  "test/bench/machine.ts": ["docker-command"],
  "test/bench/metered-network.ts": ["engine"],
  "test/bench/update-gap.ts": ["docker-command"],
  "test/bench/update/update.ts": ["docker-command"],
  "test/device/agent-updates.test.ts": ["openssl"],
  "test/e2e/executables/container.test.ts": ["docker-command"],
  "test/e2e/files.test.ts": ["docker-command"],
  "test/e2e/large-directory.test.ts": ["docker-command"],
  "test/e2e/public-stacks.test.ts": ["docker-command", "docker-compose"],
  "test/e2e/recipes/compose.test.ts": ["docker-command", "docker-compose"],
  "test/integration/engine/compose-differential.test.ts": ["docker-compose"],
  "test/integration/agent-local/doctor.test.ts": ["faketime"],
  "test/device/doctor.test.ts": ["faketime"],
  "test/repo/monitoring.test.ts": ["prometheus"],
};

/** Returns what a test file needs, sorted. */
export function needsOf(modules: Modules, file: string): TestNeed[] {
  const needs = [...reachable(modules, file)].flatMap((path) => NEEDS[path] ?? []);
  return [...new Set(needs)].toSorted();
}
