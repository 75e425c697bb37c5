import type { ControlPlane, TestAccount } from "./control-plane.ts";

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body parsed as JSON; `undefined` when it is empty. */
  readonly body: Record<string, unknown>;
}

export interface ApiClient {
  get(path: string): Promise<ApiResponse>;
  post(path: string, body?: unknown): Promise<ApiResponse>;
  put(path: string, body: unknown): Promise<ApiResponse>;
  patch(path: string, body: unknown): Promise<ApiResponse>;
  delete(path: string): Promise<ApiResponse>;
}

/** A JSON client of the HTTP API with the key of an account. */
export function apiClient(control: Pick<ControlPlane, "url">, account: Pick<TestAccount, "apiKey">): ApiClient {
  const call = async (method: string, path: string, body?: unknown): Promise<ApiResponse> => {
    const response = await fetch(control.url + path, {
      method,
      headers: {
        "X-API-Key": account.apiKey,
        ...(body !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
  return {
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
    put: (path, body) => call("PUT", path, body),
    patch: (path, body) => call("PATCH", path, body),
    delete: (path) => call("DELETE", path),
  };
}
