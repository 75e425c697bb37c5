import { existsSync, rmSync, writeFileSync } from "node:fs";

/** Remembers over restarts that the store knows less than the engine does, until the apps have been read off it. */
export class RebuildMarker {
  readonly #path: string;

  /** @param path of the file whose presence is the mark */
  constructor(path: string) {
    this.#path = path;
  }

  get isSet(): boolean {
    return existsSync(this.#path);
  }

  set(): void {
    writeFileSync(this.#path, "", { mode: 0o600 });
  }

  clear(): void {
    rmSync(this.#path, { force: true });
  }
}
