import type { Clock } from "../../../src/lib/clock.ts";

/** Tokens that an operator has given and still accepts. */
export class IssuedTokens {
  readonly #clock: Pick<Clock, "now">;
  readonly #endsMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add(token: string, lifetimeS: number): void {
    this.#endsMs.set(token, this.#clock.now() + lifetimeS * 1000);
  }

  /** Whether the header `Authorization` has one of them. */
  accepts(header: string | undefined): boolean {
    const [scheme, token = ""] = header?.split(" ") ?? [];
    return scheme === "Bearer" && this.#clock.now() < (this.#endsMs.get(token) ?? 0);
  }

  forget(): void {
    this.#endsMs.clear();
  }
}
