import type { ContainerRequest, DirectoryRequest, Engine } from "../../../src/agent/engine/engine.ts";

/** What the contract suite needs of an engine under test. */
export interface EngineHarness extends AsyncDisposable {
  readonly engine: Engine;
  readonly kind: "docker" | "podman";
  /** References of images on the machine. */
  readonly images: {
    readonly sleeper: string;
    /** Writes `starting` and `cannot go on`, and exits with 7 at once. */
    readonly crasher: string;
    /** Exits with 7 after a while. */
    readonly lateCrasher: string;
    /** Checked each second; healthy after about one, with the output `fine`. */
    readonly healthy: string;
    /** Its check fails each second with the output `not yet`; unhealthy after the second failure. */
    readonly unhealthy: string;
    /** Brings variables, a volume, a port, a user, a health check, and `IMAGE_LABELS`. */
    readonly laden: string;
    /** Its user is `node`. Has directory `/data` of 1000:1000, mode 0775, `/linked` leading there, `/conf/app.conf`. */
    readonly ownUser: string;
  };
  /** References to pull. */
  readonly pullable: {
    /** In the registry and not on the machine. */
    readonly present: string;
    /** The same, and large enough that its pull can be cut off. */
    readonly large: string;
    readonly missing: string;
    readonly denied: string;
    readonly otherPlatform: string;
    readonly unreachable: string;
  };
  /** Files of the engine's machine. */
  readonly files: {
    /** Makes an empty directory, which goes with the test. */
    directory(): Promise<string>;
    /** Makes a symbolic link that leads nowhere. */
    brokenLink(path: string): Promise<void>;
    remove(path: string): Promise<void>;
    /** What is at a path; `undefined` if nothing. */
    look(path: string): Promise<Pick<DirectoryRequest, "owner" | "mode"> | undefined>;
  };
  /** What the directory of a volume of the engine is. */
  lookInVolume(name: string): Promise<Pick<DirectoryRequest, "owner" | "mode"> | undefined>;
  /** Makes an image of a container, as `docker commit` does. Answers its reference; it goes with the harness. */
  commit(container: string): Promise<string>;
  /** Whether a running container finds another one by this name. */
  readonly finds: (id: string, name: string) => Promise<boolean>;
  /** Removes a network by another way than the engine's interface, whatever containers are on it. None runs. */
  readonly removeNetwork: (name: string) => Promise<void>;
  /** An address range that no network uses. */
  freeSubnet(): Promise<string>;
  /** A process that is no container takes a TCP port. */
  occupyPort(port: number): Promise<AsyncDisposable>;
  /** Whether the engine counts on this machine what containers use: on some kernels it gives zeros for everything. */
  countsUse(id: string): Promise<boolean>;
  /** Keeps the engine from removing what a running container has written, until disposed. */
  readonly obstructRemoval: (id: string) => Promise<AsyncDisposable>;
  /** Pauses a running container by another way than the engine's interface. */
  readonly pause: (id: string) => Promise<void>;
}

export const IMAGE_LABELS = { "io.example.kept": "of the image", "io.example.emptied": "of the image" };

/** A request with nothing special about it. */
export function plainRequest(name: string, image: string, changes: Partial<ContainerRequest> = {}): ContainerRequest {
  return {
    name,
    image,
    labels: {},
    environment: [],
    ports: [],
    volumes: [],
    hostNetwork: false,
    privileged: false,
    restartPolicy: "unless-stopped",
    logLimit: { maxBytes: 1_000_000, maxFiles: 2 },
    ...changes,
  };
}
