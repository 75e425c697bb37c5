/** What a request needs to be let in. */
export interface Authorization {
  /** Returns the value of the header `Authorization`. Throws `SimOperatorError`. */
  header(signal: AbortSignal): Promise<string>;
  /** The operator did not accept this value. Returns whether another one may be accepted. */
  reject(header: string): boolean;
}

/** HTTP Basic with credentials that do not change. */
export class BasicAuthorization implements Authorization {
  readonly #header: string;

  constructor(user: string, password: string) {
    this.#header = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  }

  async header(): Promise<string> {
    return this.#header;
  }

  reject(): boolean {
    return false;
  }
}
