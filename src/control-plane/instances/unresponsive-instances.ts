/** The other instances that do not renew their lease, as of the last look of `DeadInstanceSweeper`. */
export class UnresponsiveInstances {
  #ids: ReadonlySet<string> = new Set();

  readonly has = (id: string): boolean => this.#ids.has(id);

  replace(ids: Iterable<string>): void {
    this.#ids = new Set(ids);
  }
}
