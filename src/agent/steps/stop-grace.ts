import type { ContainerStepContext } from "./context.ts";

/**
 * Returns how long the app of a container may take to end, in milliseconds: as the specification says that the container
 * was created from, which for an old version is not the one that replaces it.
 *
 * @param deploymentId the deployment whose label the container has
 */
export function stopGraceMs(
  { config, store }: Pick<ContainerStepContext, "config" | "store">,
  deploymentId: string | undefined,
): number {
  const deployments = store.deployments();
  const spec =
    store.apps().find((app) => app.deploymentId === deploymentId)?.spec ??
    deployments.find(({ id }) => id === deploymentId)?.spec ??
    deployments.find(({ previous }) => previous?.deploymentId === deploymentId)?.previous?.spec;
  return stopGraceOf(config, spec);
}

/** The same for a known specification. */
export function stopGraceOf(
  config: Pick<ContainerStepContext["config"], "stopGraceMs">,
  spec: { readonly stop_grace_s?: number } | undefined,
): number {
  return spec?.stop_grace_s === undefined ? config.stopGraceMs : spec.stop_grace_s * 1000;
}
