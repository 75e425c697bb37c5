import { normalizePath } from "../../protocol/app-fields.ts";
import type { AppSpec } from "../../protocol/app-spec.ts";

/** Labels on every container of the agent: how it finds its own again, whatever happened in between. */
export const LABELS = {
  app: "io.edge-agent.app",
  deployment: "io.edge-agent.deployment",
  specHash: "io.edge-agent.spec-hash",
  /** State directory of the agent it belongs to: more than one agent may share an engine, as on a test machine. */
  stateDir: "io.edge-agent.state-dir",
} as const;

/** The container of an app is named as the app, except that engines refuse names of one character. */
export function containerName(app: string): string {
  return app.length === 1 ? `${app}-app` : app;
}

/**
 * The specification in one canonical text: two requests that mean the same have the same text. Hashed for the
 * `spec-hash` label.
 */
export function canonicalSpec(spec: AppSpec): string {
  return JSON.stringify([
    spec.name,
    spec.image,
    spec.host_network,
    spec.privileged,
    spec.environments.map(({ key, value }) => [key, value]),
    spec.ports.map(({ host_port, target_port }) => [host_port, target_port]),
    spec.volumes.map(({ local, target, readonly }) => [normalizePath(local), normalizePath(target), readonly]),
  ]);
}

/** Values of the environment: the secrets of a specification. */
export function secretsOf(spec: AppSpec | undefined): string[] {
  return spec?.environments.map(({ value }) => value) ?? [];
}
