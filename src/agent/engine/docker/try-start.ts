import { randomUUID } from "node:crypto";
import type { ContainerCreateOptions } from "dockerode";
import { deadline } from "../../../lib/clock.ts";
import { helperLabels, helperName } from "../../core/app/helper.ts";
import { EngineError } from "../engine-error.ts";
import type { TrialRequest } from "../engine.ts";
import { createOptions } from "./create-options.ts";
import { requireMountSources } from "./device-files.ts";
import { type HelperEngine, REMOVE_MS } from "./helper-container.ts";
import { resolveHostGateway } from "./host-gateway.ts";
import { findLocalName } from "./images.ts";
import { requireFields } from "./shape.ts";
import { removeUntilGone } from "./stop-and-remove.ts";
import { toEngineError } from "./to-engine-error.ts";
import { requireVolumeSubpaths } from "./volume-subpaths.ts";

/** A program that no image has. */
const PROGRAM = "/edge-agent-trial-runs-nothing";
/** Docker's own first process, which is missing on some devices. */
const INIT = /docker-init/;

/** The engine of a trial. */
export interface TrialEngine extends HelperEngine {
  readonly isRootless: boolean;
}

/**
 * Starts a helper like the container and removes it. Docker sets up networks after it has made the process, from 28 on: there
 * its own init is the process, and ends since the program is missing. Podman sets them up before, and then misses the
 * program. Nothing of the image runs in either case.
 */
export async function tryStart(engine: TrialEngine, request: TrialRequest, abortSignal: AbortSignal): Promise<void> {
  const sources = request.volumes.map(({ local }) => local);
  const { image: name, labels } = request;
  if (engine.kind === "podman" && sources.length > 0)
    await requireMountSources(engine, { image: name, labels, sources }, abortSignal);
  await requireVolumeSubpaths(engine.docker, request, abortSignal);
  const image = await findLocalName(engine.docker, name, abortSignal);
  const options = trialOptions({ ...request, image }, engine);
  try {
    await startOnce(engine, options, request, abortSignal);
  } catch (error) {
    const isWithout = error instanceof EngineError && INIT.test(error.message);
    if (!isWithout) throw error;
    const { Init: _init, ...HostConfig } = options.HostConfig ?? {};
    await startOnce(engine, { ...options, HostConfig }, request, abortSignal);
  }
}

function trialOptions(
  request: TrialRequest,
  { kind, isRootless }: Pick<TrialEngine, "kind" | "isRootless">,
): ContainerCreateOptions {
  const options = createOptions(
    { ...request, name: helperName(randomUUID()), restartPolicy: "no" },
    { kind, isRootless },
  );
  const { PortBindings = {}, ...host } = options.HostConfig ?? {};
  const ports = Object.entries(PortBindings as Record<string, readonly { readonly HostIp?: string }[]>);
  return {
    ...options,
    Labels: helperLabels(request.labels),
    Entrypoint: [PROGRAM],
    Cmd: [],
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...host,
      // The engine chooses ports that are free, at the same addresses.
      PortBindings: Object.fromEntries(
        ports.map(([target, list]) => [target, list.map((binding) => ({ ...binding, HostPort: "" }))]),
      ),
      ...(kind === "docker" && { Init: true }),
    },
  };
}

async function startOnce(
  { docker, kind, clock }: HelperEngine,
  options: ContainerCreateOptions,
  { furtherNetworks = [], environment }: TrialRequest,
  abortSignal: AbortSignal,
): Promise<void> {
  let id: string | undefined;
  try {
    const resolved = kind === "podman" ? await resolveHostGateway(docker, options, abortSignal) : options;
    ({ id } = requireFields(await docker.createContainer({ ...resolved, abortSignal }), { id: "" }));
    const member = { Container: id, abortSignal };
    for (const name of furtherNetworks) await docker.getNetwork(name).connect(member);
    await docker.getContainer(id).start({ abortSignal });
  } catch (error) {
    const values = environment.map((variable) => variable.slice(variable.indexOf("=") + 1));
    // The program is what comes last.
    if (!String(error).includes(PROGRAM)) throw toEngineError(error, values);
  } finally {
    using limit = deadline(clock, REMOVE_MS);
    // The reconciler removes what is left.
    if (id !== undefined) await removeUntilGone(docker.getContainer(id), clock, limit.signal).catch(() => undefined);
  }
}
