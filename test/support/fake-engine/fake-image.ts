/** How containers of a fake image behave. Times are milliseconds of the engine's clock after each start. */
export interface FakeBehaviour {
  /** Absent: stays up. */
  readonly exit?: { readonly code: number; readonly afterMs: number; readonly oomKilled?: boolean };
  /** Absent: no health check. `afterMs` absent: stays `starting`. */
  readonly health?: { readonly becomes: "healthy" | "unhealthy"; readonly afterMs?: number; readonly output?: string };
  /** How long the app takes to end when it is asked to. Default 0. */
  readonly endsAfterMs?: number;
  /** Lines each run writes. */
  readonly logs?: readonly string[];
  /** Ports the app takes itself when it runs on the host's network. */
  readonly hostNetworkPorts?: readonly number[];
}

export interface FakeImage {
  readonly behaviour?: FakeBehaviour;
  /** Sizes of the layers in bytes. Default: two layers of 1 MB and 3 MB. */
  readonly layers?: readonly number[];
  /** Default: the one of the fake engine. */
  readonly architecture?: string;
  /** Milliseconds of the engine's clock that pulling takes, in ten steps. Default 0. */
  readonly pullMs?: number;
}

/** Sizes of the layers of an image. */
export function layersOf(image: FakeImage): readonly number[] {
  return image.layers ?? [1_000_000, 3_000_000];
}
