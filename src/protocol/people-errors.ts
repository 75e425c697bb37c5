/** The part of the error table for people, their sessions and their keys. */
export const PEOPLE_ERRORS = {
  SignInFailed: {
    message: "The address or the password is wrong, or this person cannot sign in.",
    http: 401,
    retryable: false,
    hint: "Check both. An admin of the account can send a link that sets another password.",
  },
  WrongPassword: {
    message: "The current password is wrong.",
    http: 422,
    retryable: false,
    hint: "An admin of the account can send a link that sets another password.",
  },
  WeakPassword: {
    message: "The password is too easy to guess.",
    http: 422,
    retryable: false,
    hint: "Choose 12 to 256 characters that are not a common password, a repeated text, or the address or a name; details.problem says what is wrong.",
  },
  SetupCodeUnknown: {
    message: "There is no such set-up code.",
    http: 404,
    retryable: false,
    hint: "A newer code replaces earlier ones. Create one on the server: edge-control setup-code.",
  },
  SetupCodeExpired: {
    message: "The set-up code has expired.",
    http: 410,
    retryable: false,
    hint: "Create another one on the server: edge-control setup-code.",
  },
  SetupDone: {
    message: "The service is set up already.",
    http: 409,
    retryable: false,
    hint: "Sign in. For another admin of an account, create a code on the server: edge-control setup-code --account.",
  },
  InvitationUnknown: {
    message: "There is no such invitation.",
    http: 404,
    retryable: false,
    hint: "A newer link replaces earlier ones. An admin of the account can send another one.",
  },
  InvitationExpired: {
    message: "The link has expired.",
    http: 410,
    retryable: false,
    hint: "An admin of the account can send another one.",
  },
  InvitationUsed: {
    message: "The link was used already.",
    http: 409,
    retryable: false,
    hint: "Sign in with the password that was set with it, or ask an admin of the account for another link.",
  },
  LastAdmin: {
    message: "The account would have no admin with a password left.",
    http: 409,
    retryable: false,
    hint: "Make another user an admin first.",
  },
  EmailTaken: {
    message: "A user has this address already.",
    http: 409,
    retryable: false,
    hint: "An address belongs to one user of the service. Use another one.",
  },
  UserDisabled: {
    message: "The user is disabled.",
    http: 409,
    retryable: false,
    hint: "Let the user sign in again first.",
  },
  UserNotFound: {
    message: "There is no such user in this account.",
    http: 404,
    retryable: false,
    hint: "List the users to see their ids.",
  },
  KeyNotFound: {
    message: "There is no such API key in this account.",
    http: 404,
    retryable: false,
    hint: "List the API keys to see their ids.",
  },
} as const;
