import { OperatorError } from '../base/errors.ts'
import { ownValue } from '../base/own-value.ts'

const FAULTS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `PORT: ${port} of ${host} is taken by another program: stop that one, or set PORT to another (0 takes a free one).`,
  EACCES: (_host, port) =>
    `PORT: this user may not listen on ${port}: set PORT to 1024 or above, or give the process CAP_NET_BIND_SERVICE.`,
  EADDRNOTAVAIL: (host) => `HOST: ${host} is not an address of this machine.`,
  ENOTFOUND: (host) => `HOST: ${host} does not resolve to an address.`,
  EAI_AGAIN: (host) => `HOST: ${host} does not resolve to an address now.`,
  EAFNOSUPPORT: (host) => `HOST: this machine has no addresses of the kind of ${host}.`,
}

/** Why the server cannot listen, as a sentence for the operator. */
export function listenFailure(thrown: Error, host: string, port: number): Error {
  if (!('code' in thrown)) return thrown
  const words =
    ownValue(FAULTS, String(thrown.code))?.(host, port) ??
    `HOST, PORT: the server cannot listen on ${host}:${port}: ${thrown.message}.`
  return new OperatorError(words, { cause: thrown })
}
