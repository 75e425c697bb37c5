declare module "proxy-from-env" {
  /** Returns the proxy for a URL by the environment's `*_proxy` variables, or an empty string. */
  export function getProxyForUrl(url: string | URL): string;
}
