import type { AppRecord } from "../core/records.ts";
import type { ImageSource } from "../core/image/image.ts";
import type { ImageRequest, LocalImage } from "../images/ports.ts";
import { imageWork } from "../store/crash-guard.ts";
import { updateAppRecord } from "../store/update-app-record.ts";
import type { DeployServices } from "./context.ts";

type ImageFetcherServices = Pick<DeployServices, "images" | "store" | "logger" | "crashGuard">;

type FetchedImage = Pick<LocalImage, "imageId" | "digest">;

/**
 * Fetches images of installed apps that the engine has lost, in the background: a download may take hours, or wait for
 * hours. The device's limits on the cost of a pull apply.
 */
export class ImageFetcher {
  readonly #services: ImageFetcherServices;
  readonly #active = new Map<string, Promise<void>>();

  constructor(services: ImageFetcherServices) {
    this.#services = services;
  }

  /** Whether the app's image is being fetched. */
  isFetching({ deploymentId }: AppRecord): boolean {
    return this.#active.has(deploymentId);
  }

  /** Starts to fetch the app's image, unless that is in progress. The result goes to the log and the store. */
  begin(app: AppRecord, signal: AbortSignal): void {
    if (this.isFetching(app)) return;
    const log = this.#services.logger.child({ app: app.name, deployment: app.deploymentId });
    log.warn(
      { image: app.spec.image },
      "the app's image is not on the device any more, for example because the engine was replaced; it is fetched again",
    );
    const fetching = this.#services.crashGuard
      .run(imageWork(app.name), () => this.#fetch(app, signal), signal)
      .catch((error: unknown) => {
        if (!signal.aborted)
          log.error(
            { err: error },
            "the app's image could not be fetched again, and the app does not run; it is tried again. See: edge-agent doctor (registries)",
          );
      })
      .finally(() => this.#active.delete(app.deploymentId));
    this.#active.set(app.deploymentId, fetching);
  }

  /** Resolves when no image is being fetched. */
  async settled(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  async #fetch(app: AppRecord, signal: AbortSignal): Promise<void> {
    const request: ImageRequest = {
      reference: app.spec.image,
      digest: app.digest,
      policy: "newest",
      owner: { app: app.name, deployment: app.deploymentId },
      emit: () => {},
      signal,
    };
    const resolved = await this.#services.images.resolve(request);
    if (resolved.kind === "refused") throw new Error(resolved.refusal.message);
    this.#recordImage(app, resolved.kind === "found" ? await this.#pull(request, resolved.source) : resolved);
  }

  async #pull(request: ImageRequest, source: ImageSource): Promise<FetchedImage> {
    for (let attempt = 1; ; attempt++) {
      const pulled = await this.#services.images.pull(request, source, attempt);
      if (pulled.kind !== "retry") return pulled;
      if (pulled.mustResolve) throw new Error(`the registry cannot be asked about the image${lookupErrorOf(source)}`);
    }
  }

  /** A tag may point to another image by now; then the app gets that one. */
  #recordImage(app: AppRecord, { imageId, digest }: FetchedImage): void {
    const { store, logger } = this.#services;
    const now = store.apps().find(({ name, deploymentId }) => name === app.name && deploymentId === app.deploymentId);
    const log = logger.child({ app: app.name, deployment: app.deploymentId });
    if (!now || imageId === now.imageId) return log.info("the app's image was fetched again");
    updateAppRecord(store, app, (record) => ({ ...record, imageId, digest }));
    log.warn(
      { before: now.imageId, image_id: imageId },
      "the app's image was fetched again; its tag now points to another image",
    );
  }
}

/** What the registry answered the agent, before the engine was asked. */
function lookupErrorOf(source: ImageSource): string {
  return source.kind === "engine" ? `: ${source.error.message}` : "";
}
