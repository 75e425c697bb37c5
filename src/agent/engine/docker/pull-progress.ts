import type { PullProgress } from "../engine.ts";

interface Layer {
  done: number;
  total: number;
}

/** Sums the progress of all layers of a pull. Layers that were present before are not counted. */
export class PullProgressSum {
  readonly #layers = new Map<string, Layer>();
  /** Layers to be downloaded whose size is not known yet. */
  readonly #unsized = new Set<string>();

  /**
   * Takes one message of the pull stream; returns whether there is progress to report. There is none until the size of
   * every layer that has begun is known: a small complete layer would look like the whole image.
   */
  add(message: Readonly<Record<string, unknown>>): boolean {
    const { id, status } = message;
    if (typeof id !== "string" || typeof status !== "string") return false;
    if (status === "Pulling fs layer") this.#unsized.add(id);
    const changed = this.#update(id, status, message);
    // Any other status means that the layer is waiting, or will not be downloaded.
    if (changed || !/^(?:Pulling fs layer|Downloading)$/.test(status)) this.#unsized.delete(id);
    return changed && this.#unsized.size === 0;
  }

  #update(id: string, status: string, message: Readonly<Record<string, unknown>>): boolean {
    if (status === "Downloading") return this.#downloading(id, bytesOf(message["progressDetail"]));
    if (/^(?:Download|Pull) complete$|^Extracting$/.test(status)) return this.#complete(id);
    return false;
  }

  get progress(): PullProgress {
    let done = 0;
    let total = 0;
    for (const layer of this.#layers.values()) {
      done += layer.done;
      total += layer.total;
    }
    return { done, total };
  }

  #downloading(id: string, { done, total }: Layer): boolean {
    if (done === 0 && total === 0) return false;
    const layer = this.#layers.get(id) ?? { done: 0, total: 0 };
    this.#layers.set(id, layer);
    const before = { ...layer };
    // An engine that restarts a layer counts from zero again; reported progress does not go back.
    layer.done = Math.max(layer.done, done);
    layer.total = Math.max(layer.total, total, layer.done);
    return layer.done !== before.done || layer.total !== before.total;
  }

  #complete(id: string): boolean {
    const layer = this.#layers.get(id);
    if (!layer || layer.done === layer.total) return false;
    layer.done = layer.total;
    return true;
  }
}

function bytesOf(detail: unknown): Layer {
  const { current, total } = (typeof detail === "object" && detail !== null ? detail : {}) as Record<string, unknown>;
  return { done: byteCount(current), total: byteCount(total) };
}

function byteCount(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
