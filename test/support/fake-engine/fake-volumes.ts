import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type {
  ContainerRequest,
  EngineVolumes,
  VolumeRequest,
  VolumeSummary,
} from "../../../src/agent/engine/engine.ts";
import type { OwnerIds } from "../../../src/protocol/apps/volume-fields.ts";
import type { FakeContainer } from "./fake-container.ts";
import type { FakeImage } from "./fake-image.ts";
import type { Faults } from "./faults.ts";

interface FakeVolume {
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  owner: OwnerIds;
  mode: number;
  /** Whether what the image has was copied. */
  isFilled: boolean;
  readonly hasOwner: boolean;
  /** What an app wrote into it. */
  bytes: number;
}

interface Machine {
  readonly containers: () => readonly FakeContainer[];
  /** Throws if it is not on the machine. */
  readonly image: (name: string) => FakeImage;
}

const ROOT: OwnerIds = { uid: 0, gid: 0 };
const CREATED_AT = 1_795_000_000;

/** Volumes of the fake engine. */
export class FakeVolumes implements EngineVolumes {
  readonly #faults: Faults;
  readonly #machine: Machine;
  readonly #volumes = new Map<string, FakeVolume>();

  constructor(faults: Faults, machine: Machine) {
    this.#faults = faults;
    this.#machine = machine;
  }

  /** Adds a volume that the agent did not make. */
  add(name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.#volumes.set(name, newVolume(labels, undefined));
  }

  /** What is there; `undefined` if there is no such volume. */
  look(name: string): { readonly owner: OwnerIds; readonly mode: number } | undefined {
    const found = this.#volumes.get(name);
    return found && { owner: found.owner, mode: found.mode };
  }

  /** Lets an app write into a volume. */
  write(name: string, bytes: number): void {
    const volume = this.#volumes.get(name);
    if (!volume) throw new Error(`no volume ${name}`);
    volume.bytes += bytes;
  }

  get names(): string[] {
    return [...this.#volumes.keys()];
  }

  find(name: string, signal: AbortSignal): Promise<VolumeSummary | undefined> {
    return this.#faults.around("volumes.find", [name], signal, () => {
      const found = this.#volumes.get(name);
      return found && toSummary(name, found);
    });
  }

  list(
    { key, value }: { readonly key: string; readonly value: string },
    signal: AbortSignal,
  ): Promise<VolumeSummary[]> {
    return this.#faults.around("volumes.list", [key, value], signal, () => {
      const all = [...this.#volumes].map(([name, volume]) => toSummary(name, volume));
      return all.filter(({ labels }) => labels[key] === value);
    });
  }

  create({ name, labels, owner, container }: VolumeRequest, signal: AbortSignal): Promise<void> {
    return this.#faults.around("volumes.create", [name], signal, () => {
      this.#machine.image(container.image);
      if (!this.#volumes.has(name)) this.#volumes.set(name, newVolume(labels, owner));
    });
  }

  remove(name: string, signal: AbortSignal): Promise<void> {
    return this.#faults.around("volumes.remove", [name], signal, () => {
      const user = this.#machine
        .containers()
        .find(({ request }) => mounts(request).some((mount) => mount.name === name));
      if (user) throw new EngineError("conflict", `remove ${name}: volume is in use - [${user.id}]`);
      this.#volumes.delete(name);
    });
  }

  measure(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return this.#faults.around("volumes.measure", [], signal, () => {
      return new Map([...this.#volumes].map(([name, { bytes }]) => [name, bytes]));
    });
  }

  /** Fills the volumes of a new container, and makes missing ones, as engines do. */
  mount(request: ContainerRequest): void {
    const { files = {} } = this.#machine.image(request.image);
    for (const { name, target, isExternal, nocopy } of mounts(request)) {
      const volume = this.#volumes.get(name) ?? newVolume({}, undefined);
      this.#volumes.set(name, volume);
      const inImage = files[target];
      if (volume.isFilled || (isExternal && nocopy) || inImage?.kind !== "directory") continue;
      volume.isFilled = true;
      volume.mode = inImage.mode;
      if (!volume.hasOwner) volume.owner = inImage.owner ?? ROOT;
    }
  }
}

function mounts({ namedVolumes = [] }: ContainerRequest): NonNullable<ContainerRequest["namedVolumes"]> {
  return namedVolumes;
}

function newVolume(labels: FakeVolume["labels"], owner: OwnerIds | undefined): FakeVolume {
  const hasOwner = owner !== undefined;
  return { labels, createdAt: CREATED_AT, owner: owner ?? ROOT, mode: 0o755, isFilled: false, hasOwner, bytes: 0 };
}

function toSummary(name: string, { labels, createdAt }: FakeVolume): VolumeSummary {
  return { name, labels, createdAt };
}
