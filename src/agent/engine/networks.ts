/** Networks of the engine. */
export interface EngineNetworks {
  /** Lists networks with the label `KEY=VALUE`. */
  list(label: string, signal: AbortSignal): Promise<readonly NetworkFacts[]>;
  /** Returns `undefined` if there is no network of this name. */
  inspect(name: string, signal: AbortSignal): Promise<NetworkState | undefined>;
  /** Error `conflict` if the name is taken; `no_addresses` if the subnet, or every one the engine may choose, is in use. */
  create(request: NetworkRequest, signal: AbortSignal): Promise<void>;
  /** Removes a network. No error if it does not exist. Error `conflict` if a running container is on it. */
  remove(name: string, signal: AbortSignal): Promise<void>;
  /**
   * Puts a container on a network, running or not, where it is found under the aliases while it runs. No error if it is
   * on it already. Errors: `network_missing`, which may also be an error of the start of one that does not run; `invalid` if
   * the container cannot join networks.
   */
  connect(name: string, request: ConnectRequest, signal: AbortSignal): Promise<void>;
  /**
   * Takes a container off a network, also off one that was removed behind it. No error if it is not on it, or there is no
   * such network.
   */
  disconnect(name: string, containerId: string, signal: AbortSignal): Promise<void>;
}

export interface NetworkFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface NetworkState extends NetworkFacts {
  /** Whether containers on it find each other by name: Podman needs further packages for that. */
  readonly resolvesNames: boolean;
  /** The device's bridge for it, if the engine says: Podman does. */
  readonly bridge?: string | undefined;
}

export interface NetworkRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether it leads nowhere outside of the device. */
  readonly isInternal?: boolean;
  /** Such as `10.90.0.0/24`. Default: the engine's choice. */
  readonly subnet?: string | undefined;
}

export interface ConnectRequest {
  readonly containerId: string;
  readonly aliases: readonly string[];
}
