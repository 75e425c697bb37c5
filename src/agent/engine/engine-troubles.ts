import { restartText } from "../core/deployment/failure.ts";
import { EngineError } from "./engine-error.ts";

/**
 * What is wrong with the container engine at present, as found when it was last used. Commands on the device show it, and
 * reports do.
 */
export class EngineTroubles {
  readonly #texts = new Map<string, string>();

  /** One sentence each. */
  get texts(): readonly string[] {
    return [...this.#texts.values()];
  }

  /** Whether the engine needs a restart. */
  get needsRestart(): boolean {
    return this.#texts.has(RESTART);
  }

  /** Notes an error that ends only with a restart of the engine. Others are ignored. */
  note(error: unknown): void {
    if (needsEngineRestart(error)) this.#texts.set(RESTART, restartText(error.kind));
  }

  /** The engine has started a container with ports on a network. */
  started(): void {
    this.#texts.delete(RESTART);
  }

  /** Notes a trouble of one container, or that it is over. */
  setContainer(id: string, text: string | undefined): void {
    if (text === undefined) this.#texts.delete(id);
    else this.#texts.set(id, text);
  }
}

const RESTART = "restart";

/** Whether the engine has lost something of the device that it makes anew only when it starts. */
export function needsEngineRestart(
  error: unknown,
): error is EngineError & { readonly kind: "rules_lost" | "bridge_lost" } {
  return error instanceof EngineError && (error.kind === "rules_lost" || error.kind === "bridge_lost");
}
