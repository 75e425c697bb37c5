import type { AppSpec } from "../../protocol/app-spec.ts";
import { type AppRecord, newRecord } from "../core/deployment/record.ts";
import type { ImageSource } from "../core/image/image.ts";
import { updateAppRecord } from "../store/update-app-record.ts";
import type { DeployServices, StepContext, StepResult } from "./context.ts";
import { NO_CONTAINERS } from "./observe.ts";
import { execute } from "./table.ts";

/**
 * Gets images of installed apps again that the engine has lost, beside whatever else goes on: a download may take hours,
 * or wait for them. The same steps as a deployment's, with the same bounds on what it may cost.
 */
export class ImageFetcher {
  readonly #services: DeployServices;
  readonly #active = new Map<string, Promise<void>>();

  constructor(services: DeployServices) {
    this.#services = services;
  }

  /** Whether the app's image is being fetched. */
  isFetching({ deploymentId }: AppRecord): boolean {
    return this.#active.has(deploymentId);
  }

  /** Begins to fetch the app's image, unless that goes on already. What comes of it is in the log and in the store. */
  begin(app: AppRecord, signal: AbortSignal): void {
    if (this.isFetching(app)) return;
    const log = this.#services.logger.child({ app: app.name, deployment: app.deploymentId });
    log.warn(
      { image: app.spec.image },
      "the app's image is not on the device any more, as after its engine was replaced; it is fetched again",
    );
    const going = this.#fetch(app, signal)
      .catch((error: unknown) => {
        if (!signal.aborted)
          log.error(
            { err: error },
            "the app's image could not be fetched again, and the app does not run; it is tried again. See: edge-agent doctor (registries)",
          );
      })
      .finally(() => this.#active.delete(app.deploymentId));
    this.#active.set(app.deploymentId, going);
  }

  /** Resolves when nothing is being fetched any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  async #fetch(app: AppRecord, signal: AbortSignal): Promise<void> {
    const { spec, digest } = app;
    const record = { ...newRecord(app.deploymentId, 0, spec), checked: true, digest };
    const context: StepContext = {
      ...this.#services,
      record,
      observed: NO_CONTAINERS,
      concurrentDeployments: () => [],
      emit: () => undefined,
      signal,
    };
    const resolved = await execute(context, { kind: "resolve", spec, attempt: 1 });
    const imageId = resolved.record?.imageId ?? (await this.#pull(context, spec, resolved));
    this.#recordImage(app, imageId);
  }

  async #pull(context: StepContext, spec: AppSpec, { failure, progress }: StepResult): Promise<string> {
    let source: ImageSource | undefined = failure ? undefined : progress?.source;
    for (let attempt = 1; source; attempt++) {
      const pulled = await execute(context, { kind: "pull", spec, source, attempt });
      if (pulled.failure) throw new Error(pulled.failure.message || pulled.failure.code);
      if (pulled.record?.imageId !== undefined) return pulled.record.imageId;
      source = pulled.progress && "source" in pulled.progress ? pulled.progress.source : source;
    }
    throw new Error(failure?.message || failure?.code || "the registry does not tell what the image is");
  }

  /** A tag may lead to another image by now. That is what was asked for, then, and all there is. */
  #recordImage(app: AppRecord, imageId: string): void {
    const { store, logger } = this.#services;
    const now = store.apps().find(({ name, deploymentId }) => name === app.name && deploymentId === app.deploymentId);
    const log = logger.child({ app: app.name, deployment: app.deploymentId });
    if (!now || imageId === now.imageId) return log.info("the app's image was fetched again");
    updateAppRecord(store, app, (record) => ({ ...record, imageId }));
    log.warn(
      { before: now.imageId, image_id: imageId },
      "the app's image was fetched again; its tag leads to another one now",
    );
  }
}
