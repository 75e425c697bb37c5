import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type {
  ConnectRequest,
  EngineNetworks,
  NetworkFacts,
  NetworkRequest,
  NetworkState,
} from "../../../src/agent/engine/engine.ts";
import type { FakeContainer } from "./fake-container.ts";
import type { Faults } from "./faults.ts";

interface FakeNetwork extends NetworkRequest {
  readonly id: number;
}

/** Networks of the fake engine. Containers refer to them by name and id, as Docker's do. */
export class FakeNetworks implements EngineNetworks {
  /** Whether the engine has a name service, and how many networks it has addresses for. */
  resolvesNames = true;
  capacity = Number.POSITIVE_INFINITY;
  readonly #faults: Faults;
  readonly #containers: () => readonly FakeContainer[];
  readonly #networks = new Map<string, FakeNetwork>();
  #created = 0;

  constructor(faults: Faults, containers: () => readonly FakeContainer[]) {
    this.#faults = faults;
    this.#containers = containers;
  }

  get names(): readonly string[] {
    return [...this.#networks.keys()];
  }

  /** Removes a network behind the containers on it, which are not to run. */
  delete(name: string): void {
    this.#networks.delete(name);
  }

  /** Returns the running containers that another one finds under the name. */
  resolve(from: FakeContainer, name: string): FakeContainer[] {
    const { network } = from.request;
    const isShared = typeof network === "object" && "container" in network;
    const holder = isShared ? this.#containers().find(({ id }) => id === network.container) : from;
    const own = [...(holder?.networks.keys() ?? [])];
    return this.#containers().filter(({ status, networks }) => {
      if (status !== "running") return false;
      return own.some((network) => networks.get(network)?.aliases.includes(name));
    });
  }

  /** Fails as the start of a container on a network that is gone. */
  requireAll(container: FakeContainer): void {
    const { network } = container.request;
    if (typeof network === "object" && "container" in network) {
      const owner = this.#containers().find(({ id }) => id === network.container);
      const state = owner ? "cannot join network of a non running container" : "No such container";
      if (owner?.status !== "running") throw new EngineError("invalid", `${state}: ${network.container}`);
    }
    for (const [name, { id }] of container.networks) {
      if (name === "bridge" || (id !== undefined && this.#networks.get(name)?.id === id)) continue;
      // Docker binds a container to a network that did not exist when the container was created.
      const found = this.#networks.get(name);
      if (id !== undefined || !found) throw missing(name);
      container.networks.set(name, { ...container.networks.get(name)!, id: found.id });
    }
  }

  /** Puts a new container on the networks of its request. */
  attachNew(container: FakeContainer): void {
    const { network, hostNetwork } = container.request;
    if (hostNetwork || network === "none" || (network && "container" in network)) return;
    const { name, aliases } = network ?? { name: "bridge", aliases: [] };
    container.networks.set(name, { id: this.#networks.get(name)?.id, aliases });
  }

  list(label: string, signal: AbortSignal): Promise<readonly NetworkFacts[]> {
    return this.#faults.around("networks.list", [label], signal, () => {
      return [...this.#networks.values()]
        .filter(({ labels }) => Object.entries(labels).some(([key, value]) => `${key}=${value}` === label))
        .map(({ name, labels }) => ({ name, labels }));
    });
  }

  inspect(name: string, signal: AbortSignal): Promise<NetworkState | undefined> {
    return this.#faults.around("networks.inspect", [name], signal, () => {
      const found = this.#networks.get(name);
      return found && { name, labels: found.labels, resolvesNames: this.resolvesNames };
    });
  }

  create(request: NetworkRequest, signal: AbortSignal): Promise<void> {
    return this.#faults.around("networks.create", [request], signal, () => {
      const { name, subnet } = request;
      const all = [...this.#networks.values()];
      if (this.#networks.has(name)) throw new EngineError("conflict", `network with name ${name} already exists`);
      if (all.length >= this.capacity || (subnet !== undefined && all.some((other) => other.subnet === subnet)))
        throw new EngineError("no_addresses", "could not find an available, non-overlapping IPv4 address pool");
      this.#networks.set(name, { ...request, id: ++this.#created });
    });
  }

  remove(name: string, signal: AbortSignal): Promise<void> {
    return this.#faults.around("networks.remove", [name], signal, () => {
      const isUsed = this.#containers().some(({ status, networks }) => status === "running" && networks.has(name));
      if (isUsed) throw new EngineError("conflict", `error while removing network: ${name} has active endpoints`);
      this.#networks.delete(name);
    });
  }

  connect(name: string, { containerId, aliases }: ConnectRequest, signal: AbortSignal): Promise<void> {
    return this.#faults.around("networks.connect", [name, containerId, aliases], signal, () => {
      const container = this.#existing(containerId);
      const found = this.#networks.get(name);
      if (!found) throw missing(name);
      if (container.joinable === undefined)
        throw new EngineError("invalid", "the container cannot be connected to any other network");
      if (container.networks.get(name)?.id === undefined) container.networks.set(name, { id: found.id, aliases });
    });
  }

  disconnect(name: string, containerId: string, signal: AbortSignal): Promise<void> {
    return this.#faults.around("networks.disconnect", [name, containerId], signal, () => {
      if (this.#networks.has(name))
        this.#containers()
          .find(({ id }) => id === containerId)
          ?.networks.delete(name);
    });
  }

  #existing(id: string): FakeContainer {
    const container = this.#containers().find((candidate) => candidate.id === id);
    if (!container) throw new EngineError("not_found", `No such container: ${id}`);
    return container;
  }
}

function missing(name: string): EngineError {
  return new EngineError("network_missing", `network ${name} not found`);
}
