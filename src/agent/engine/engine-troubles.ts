import { restartText } from "../core/deployment/failure.ts";
import { EngineError } from "./engine-error.ts";

/** Something that is wrong with the engine. */
export interface EngineTrouble {
  /** A sentence. */
  readonly text: string;
  /** What a person can do about it. */
  readonly next: string;
}

/**
 * What is wrong with the container engine at present, as found when it was last used. Commands on the device show it, and
 * reports do.
 */
export class EngineTroubles {
  readonly #troubles = new Map<string, EngineTrouble>();

  get all(): readonly EngineTrouble[] {
    return [...this.#troubles.values()];
  }

  /** One sentence each. */
  get texts(): readonly string[] {
    return this.all.map(({ text }) => text);
  }

  /** Whether the engine needs a restart. */
  get needsRestart(): boolean {
    return this.#troubles.has(RESTART);
  }

  /** Notes an error that ends only with a restart of the engine. Others are ignored. */
  note(error: unknown): void {
    if (needsEngineRestart(error)) this.#troubles.set(RESTART, { text: restartText(error.kind), next: RESTART_NEXT });
  }

  /** The engine has started a container with ports on a network. */
  started(): void {
    this.#troubles.delete(RESTART);
  }

  /** Notes a trouble of one container, or that it is over. */
  setContainer(id: string, trouble: EngineTrouble | undefined): void {
    if (trouble === undefined) this.#troubles.delete(id);
    else this.#troubles.set(id, trouble);
  }
}

const RESTART = "restart";
const RESTART_NEXT = "sudo systemctl restart docker, which restarts the apps too";

/** Whether the engine has lost something of the device that it makes anew only when it starts. */
export function needsEngineRestart(
  error: unknown,
): error is EngineError & { readonly kind: "rules_lost" | "bridge_lost" } {
  return error instanceof EngineError && (error.kind === "rules_lost" || error.kind === "bridge_lost");
}
