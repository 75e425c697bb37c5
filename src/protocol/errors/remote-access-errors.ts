/** The part of the error table for streams to apps. */
export const REMOTE_ACCESS_ERRORS = {
  Forbidden: {
    message: "The role of the API key or of the user does not have the permission for this.",
    http: 403,
    retryable: false,
    hint: "details.permission names it. An admin of the account can change a user's role or create another key; apps.forward and apps.exec are given to keys alone: edge-control key create --allow.",
  },
  AppNotRunning: {
    message: "The app does not run.",
    http: 409,
    retryable: true,
    hint: "Start the app, or wait until it runs again.",
  },
  AppPortClosed: {
    message: "Nothing listens on this port of the app.",
    http: 502,
    retryable: true,
    hint: "Check the port, and that the app listens on all addresses of its container (0.0.0.0), not only on 127.0.0.1.",
  },
  AppPathNotFound: {
    message: "There is no such file or directory in the app's container.",
    http: 404,
    retryable: false,
    hint: "Paths are absolute, as the app sees them.",
  },
  StreamIdle: {
    message: "The stream was closed because nothing was sent over it for too long.",
    http: 408,
    retryable: true,
    hint: "Open it again. The time is set in the device's configuration: remote_access.idle_s.",
  },
} as const;
