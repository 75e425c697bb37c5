import type Docker from "dockerode";
import type {
  ConnectRequest,
  EngineInfo,
  EngineNetworks,
  NetworkFacts,
  NetworkRequest,
  NetworkState,
} from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import type { ConnectEngine } from "./connection.ts";
import { getJson } from "./get.ts";
import { requireList } from "./shape.ts";
import { toEngineError } from "./to-engine-error.ts";
import { unlessStatus } from "./unless-status.ts";

type Call = <T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export interface DockerNetworksOptions {
  readonly connect: ConnectEngine;
  readonly kind: (signal: AbortSignal) => Promise<EngineInfo["kind"]>;
  readonly query: Call;
  readonly change: Call;
}

interface ListedNetwork {
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** Of Podman's own interface. */
interface PodmanNetwork {
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly dns_enabled?: boolean;
  readonly network_interface?: string;
}

/** Texts for a container that is on the network: of Docker, and of Podman. */
const ALREADY_CONNECTED = /already exists in network|network is already connected/i;
/** Texts for a container that is not. */
const NOT_CONNECTED = /is not connected to (?:the )?network|not connected to network|no such container/i;

/** Networks of Docker, and of Podman through its Docker-compatible interface. */
export class DockerNetworks implements EngineNetworks {
  readonly #options: DockerNetworksOptions;

  constructor(options: DockerNetworksOptions) {
    this.#options = options;
  }

  list(label: string, signal: AbortSignal): Promise<readonly NetworkFacts[]> {
    return this.#options.query(signal, async (abortSignal) => {
      const filters = JSON.stringify({ label: [label] });
      const listed = await getJson<ListedNetwork[]>(this.#docker(), "/networks", abortSignal, { filters });
      return requireList(listed).map(({ Name, Labels }) => ({ name: Name, labels: Labels ?? {} }));
    });
  }

  inspect(name: string, signal: AbortSignal): Promise<NetworkState | undefined> {
    return this.#options.query(signal, async (abortSignal) => {
      const segment = encodeURIComponent(name);
      if ((await this.#options.kind(abortSignal)) === "podman") {
        const path = `/v4.0.0/libpod/networks/${segment}/json`;
        const found = await unlessStatus(404, getJson<PodmanNetwork>(this.#docker(), path, abortSignal));
        if (!found) return undefined;
        const { labels = {}, dns_enabled: resolvesNames = false, network_interface: bridge } = found;
        return { name, labels: labels ?? {}, resolvesNames, bridge };
      }
      const path = `/networks/${segment}`;
      const found = await unlessStatus(404, getJson<ListedNetwork>(this.#docker(), path, abortSignal));
      // Docker also finds a network by the beginning of its id.
      if (!found || found.Name !== name) return undefined;
      return { name, labels: found.Labels ?? {}, resolvesNames: true };
    });
  }

  create({ name, labels, subnet, isInternal = false }: NetworkRequest, signal: AbortSignal): Promise<void> {
    return this.#options.change(signal, async (abortSignal) => {
      const isPodman = (await this.#options.kind(abortSignal)) === "podman";
      await this.#docker().createNetwork({
        Name: name,
        // Docker keeps networks apart by itself.
        ...(isPodman && { Options: { isolate: "true" } }),
        Driver: "bridge",
        CheckDuplicate: true,
        Internal: isInternal,
        Labels: { ...labels },
        ...(subnet !== undefined && { IPAM: { Driver: "default", Config: [{ Subnet: subnet }] } }),
        abortSignal,
      });
    });
  }

  remove(name: string, signal: AbortSignal): Promise<void> {
    return this.#options.change(signal, async (abortSignal) => {
      await unlessStatus(404, this.#docker().getNetwork(name).remove({ abortSignal }));
    });
  }

  connect(name: string, { containerId, aliases }: ConnectRequest, signal: AbortSignal): Promise<void> {
    return this.#options.change(signal, async (abortSignal) => {
      const body = { Container: containerId, EndpointConfig: { Aliases: [...aliases] }, abortSignal };
      await unless(ALREADY_CONNECTED, this.#docker().getNetwork(name).connect(body));
    });
  }

  disconnect(name: string, containerId: string, signal: AbortSignal): Promise<void> {
    return this.#options.change(signal, async (abortSignal) => {
      const body = { Container: containerId, Force: true, abortSignal };
      const call = unless(NOT_CONNECTED, this.#docker().getNetwork(name).disconnect(body));
      await call.catch((error: unknown) => {
        const cause = toEngineError(error);
        if (!(cause instanceof EngineError) || cause.kind !== "network_missing") throw error;
      });
    });
  }

  #docker(): Docker {
    return this.#options.connect();
  }
}

/** Ignores the error of an engine whose text matches. */
async function unless(text: RegExp, response: Promise<unknown>): Promise<void> {
  try {
    await response;
  } catch (error) {
    if (!text.test(String(error))) throw error;
  }
}
