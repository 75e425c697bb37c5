import { engineRequest } from "../images.ts";

/** A user who runs engine commands on the device directly, without the agent. */
export class EngineUser {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** `docker commit`. Returns the image's id. */
  async commit(container: string, name: string): Promise<string> {
    const body = await this.#call("POST", `/commit?container=${container}&repo=localhost/${name}&tag=1`);
    return (JSON.parse(body) as { readonly Id: string }).Id;
  }

  /** `docker run -d --name NAME IMAGE`. Returns the container's id. */
  async run(name: string, image: string, more: object = {}): Promise<string> {
    const body = await this.#call("POST", `/containers/create?name=${name}`, { Image: image, ...more });
    const { Id: id } = JSON.parse(body) as { readonly Id: string };
    await this.#call("POST", `/containers/${id}/start`);
    return id;
  }

  /** `docker rm -f` */
  async remove(container: string): Promise<void> {
    await this.#call("DELETE", `/containers/${container}?force=1&v=1`);
  }

  /** Returns the status of a container; `undefined` if it does not exist. */
  async status(id: string): Promise<string | undefined> {
    const { status, body } = await engineRequest(this.#socketPath, "GET", `/containers/${id}/json`);
    return status === 404
      ? undefined
      : (JSON.parse(body) as { readonly State: { readonly Status: string } }).State.Status;
  }

  async #call(method: string, path: string, body?: object): Promise<string> {
    const sent = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const answer = await engineRequest(this.#socketPath, method, path, sent);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  }
}
