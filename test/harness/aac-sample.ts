/** Frames as an encoder writes them, of noise and a tone: each with its ADTS header. */
export interface AacSample {
  readonly frames: readonly Buffer[]
  readonly rate: number
  /** AudioSpecificConfig of the same form. */
  readonly config: readonly number[]
}

/** `mono`: 24 kbit/s at 16 kHz; `stereo`: 128 kbit/s at 44.1 kHz, two of its frames with short windows. */
export function aacFrames(name: keyof typeof SAMPLES): AacSample {
  const { frames, rate, config } = SAMPLES[name]
  return { frames: frames.map((frame) => Buffer.from(frame, 'base64')), rate, config }
}

const SAMPLES = {
  mono: {
    rate: 16_000,
    config: [0x14, 0x08],
    frames: [
      '//FgQBpf/AE6NSyJ8WiIOhILj7VTKvJeF3vreS5Skil1VwGgKgF6EJn7+WtQZoha05mr/qwsz57cam4avVhnTT8mxNhVYpVeaWzB7stTHArV+DIdejSYUf8n2S7jhMw9gys+YdenywG5xjjoqktA3QPWmXXesPOhQ2yzPDjYexVnVA4O06sNJ+Ey4eugDW2Ouip2onBS9Cw+mSQjTN0x4Qx681h5bY27fxqYEnsS1XyPW3rkDkpRhK3oUmcdSquqFyhZuM6VPdRtfoAdBeTKpVM4',
      '//FgQBk//AE2NSxpUlaEg6IiOvt3FKcZKkxdTW+vEIEgCogKkFzqbcHnf/1uYq3WZs+A+Vd0hC/QBS9bMmoYTw+sJRQfbegRvFfaIHZK9s9eolfOlQrkGsKyYZbl4EYU0PeHixUe2hpZ1YMyMPn9mNXszqYTZfDrXlz33TwuobO+DxBWMxuTBwsrmQpcT8vDcs4phnWqAjJVBmeSl4OFb45YxqjD4sLlk/qbXFn7D0DsMJzM5yhqGbgdo5uh1pBn0e+KlwiE7gt4',
      '//FgQBi//AEyNSxsJHlFA6Ig6FPfHOqKSVfOs4pFBCVCQTUwLMyJpXVuzv1PY96ls4d936ooZJuGKsucGaGifKxuix6NdR5iLNuTtuuuECHWQQ0qyoHH/pqDVXhnoF06pzUeSUeFS3+jE8qUN7T0zalKQ+fyE1SLFQcpK7qamU7mTMBtV/slNyEYYnIJ7Gy2sBgYjxHk7LQeeo4gMO6DCJGu8HNZ5HT1VNl0osOBCqapveEWCKFeWjW5lVvx29HrOTnX48A=',
      '//FgQBpf/AE0NSxpEkIfRETQtfPqpiW1zFLnXiRuSXu80yColQERjcUsgyLxp9p5P9mm1ZUcEJ8Z/Fn6PVdKsrit+xoQ8QH/dtEamUolKgzQCY4hTTFtGdQBUqBJ7Sbp7H3vKcKzW1LyFKxKFokyIZWccBVGL0fWgXNE6ZCjRU/dgzVdtW1GCcoATmK8XbqQWY23xBtqFTGLukAeQSZZR3nIPA+OMC+jyuVzSRUkvsV7qWpuDCJ6HsqRrPzhHLTv21ye2Xy5fpZ0oJaQcLUeg4u4',
      '//FgQBc//AE+NSyJEnaESaJ7fPvCb1mlS93FK1k54KukgFSEHLPMNXdeuokgde+vPYrB+reAHElIB4FHVnqtPkFtYQxV0Qpn1YQ0GBTihVerPWrAV6jXlHQvc8nEweu7p18/smLHO0y08bQ52ABR4LwDrxApE+8BTCOIpGLOH6MiFCh2SV8yhVxVIgBo4/8Qh8YH8KzqDd2WWNgTU2LQl5bf3hsRTjGOBv8XLmjC/qlFONsWfUNlMvA=',
    ],
  },
  stereo: {
    rate: 44_100,
    config: [0x12, 0x10],
    frames: [
      '//FQgEK//CFMbL4FpoAAAFSW3WYrazCbhFZbx+951TorNH6+/Tvrt07f7f3AD/r/0AAKqc7/J7orAcd1PH7Mrk2aajKxs2I37suLVb+rNXWEpBs75y5cEqbpaOcTSt5001V04SK5kk3eO1FdKaKh2mU0V0dlOjqspk2y6fNcEvfRov8LyZ2s3jx7uVMUuJ0IlrnWhNKTkAwZq8XzgYFZRbazAaJYQocQyecnwPEEK6ieIxRJlZJLhwCBIe8PV5VPdvlq6brWqvXPStXV4e6m22wLQXriwJwxe4cHxa2eyB3+z2nrmMK1iIJZIBZ1tmjsyjZRWsi2GUyPPSBkpD5TwmooXL3N0h0v9uQzYBSEkvqZGjv9fHptszjY/OZLLvhvpuyoKm8BEVArapwpE1eAkN0aePbrTZF6swm4RWWyVd51TwytH67AOX+/+oAf9/+wAD2QGOEcrijTntZdEGhz9VE+qBa20EsM4m4plvvN6ymdp2kBv74SLXfCY947UV0po4DtMprUlUsJEb1nyucVlbZml8akQm8XJkQT3eCIVlE7eAJInpJZcAnIPa+zpU92+UZayQTWzSo9WjXSVqgQLjFgTgzwOD4tbF8Bdt1HrmMK1goJZCBYUpk25RPRWsi3gTI89IGSkOi1uRQuXubpDxv7chwdMhJM5MRi6W+jOw1Cd75gsjRaF7OOykQW+EtqAnDam4A=',
      '//FQgEUf/CCTTNllKN02a8s14Hr1lrytVp9zjPasu1n8/muNcahqhnt1doPza7R4CLy62ZbNGySJAzoljqcAvzZk2AONnCZAMyU+f4WbFr+QHflGj4V0DIrSs5LqgcTOFDhrrIPuSrrwmgZ5+0QpmpnR7ZZYn4Rm+5oOpnTT1fXaFCoXT9BLDXOiJ93Kg7qkW6a0PNcrZmCeFg5bUiDlCtoLH6tDpXijtWMkafYjbZCejgYZonpHnXGDeS0eoCguqjVWRHGH0sqCtcjOVKg2nSahAKmcbG5KDUiG/71ahvmZhe+x1lgqOMq0bXnt8prDRPb5TTtFRxmjrM88wCtbHPLC7ja9AyD/Szzy8P8qmabLFO7Nc6aOm9po7LL+OUqK4y618b4lZ0fjPdeovq6vPr86lziFhvODeSPz81ov4DMm7Uo/buTg5IkSBp0S9TdnBjhgzQSsQ5TbE6ROkEeBdCeRXYOkFPniQzptAwYIwDbmGd7vLWVFp5rV1sbUEq2YOIUUDoMd5Bmhndq5LwFZ3zDZr2Ku2Hud10PjWWfvucJ6ziW1ewWj9X6RyaetXz5tflmg+bfMb79B3+d2bYKRuTesQ95ZheuVyfyXj+cESM1ppFXvFPlKbbK69oaOLDy7geQ87/k/vVqEA8nVnvO/PU++PxeyPH6zhckPG4/A9EHg+Nx+sDtvB8bj9Z5wPQ+FxeJy+YDruLqc/W9UB09Rw+18Li8ThgHA',
      '//FQgC1//CEbBC2NpIZhIPQoLUvmc3rJd1UvJ13WuvWWutVVVAK4SrZbBQCfqa9JYEgZlfLKqrZVdlkgwF+YxdObnnmN+coXZZRZ9bkgpzgskBVXPOUoSyoudVmcDHeaAzeAAI6/+3jx4fXs+AD/j36gxk9GMsw6v5DPMr+yW3v6gVbHuynRQizPOUTzVB/PzfD/s+kKhilgHiB7/yDD0gBz+VdxEDuAO9n8htOj42xCCbsbOSehIuifmS9/Hrzrvvqp1XrWplUul4iVH/UytQKBLzeac05LnbrkVhWkcrt8LQ7KAFDVqpkcooVGzJdKY0Y3UbgkHQbe2Tf1mSyhrqgeWUIKKn65PFmqAX9XGLsKqMtKiqXjFwYYB15MD2yAZJJ4TjB+AfXQNCaWE+WNX0MnWJBK8LJ2e137k/CFiOEHRCF3YqjDa23NXWnrK97BUw3+eLG7Qi5B0mjmI+cBIOhSgR68awOp15XA',
      '//FQgDI//CEbBG2NnojQoEiaFD6EQ6EQvmbi8mqc6nW6y6RmoE5sWqpRIaYZfAAMNgAACISZ3BMaDPDv6pfFzzyYdunbJe913loF6VgUzygZ0JVSbIr7sZC8p2Sj8kgAR12k2kx+He6V6Hg5hWkPchA23jDx/xxTf8+vSFOh/X/AjxqJjB1gyfD7EkHnfqkBv6j50A+3VSlCe1A6Nj8OWjuWSmPqej2zGb5sruKxcPD3jXiPSQVDAYQR2Ztxtj5o3U9mcbYj4/0Ec8fUK9L6Juxs9I6FCaMQvHdkvnrFxUy7xV1K1Va2lP9KJVDOoNfzGwYxX2VZ1nZOD7arypciuR3aycZtuyKp2tU2aAvjFxyUxH3Agwx/W620mP8eXilUeDoSfocjBQM9ZHfr6sUvX6/AeKUlcg23WX9f/sY4nIe6vez3pzt+pUVfcpe/xamR1p/57TX+c46aoCXLccSNs+WWORUFQVUeWtwyO48pjsS+Zt2z72rBo0lbdTGjNqv3rFo2yeFslBdmeLiPUZa9L34=',
      '//FQgCsf/CEbCgIAxIAASVjaSHI+iImiEL+JvUziO+Ffjutxx79ZTjcKhAgpUErBmBGwIKrFlcRg0wvjRpAFCnNWWW4xIb3lOwpLDtMcxthbYCoinSXpnZaWWfdLjuwpKdHpDK4bxkVhyQmPs4goe735un+/zRr+v9tyjldl3ZyCfKuA3m+EVLw5aTdlfhMmpHQDoFUZrpPnVujANcq+ylX/gg0IxX3AnZgq1KmhLSTnz/qksuwjNFcmN4GFUiCk6/ilrG0iUg/DovHoiD4X28ZcXPb3kz9fDc64/TVcb37ckqvMEimTQWMOeDB1KPxYSEYOML0kQwUKVNlluASGnZKdhSWNabyjXC2k9Vr0IiQRgsUo7LrJndqb8YXNBBwBKS9Hz2fo1QBoEpOAQH5+IDeeUI+S6OWkyj080HFDVKKrnXbm7mO+bSrXYtT4X7maGmh5v9HpHVw=',
      '//FQgCd//CEbD/f///+AS1jbyE0JB0SB0T8yQj8fmCJUUvNVWmIqVAslWD95Y4HI8n9TZJ4eRZrObFVfJqkLIl6ccJbq2E+rFd1DXvqW+ibYUkodUtXPR2ynGquSc8fTlnXxQJrwDFpQuGbeaF1WS2yCx8rRqVKECg6o22y3Sr+10kINmUx6qK6zMwisqyYa7K4dlsl0ceLPy67ed0VSZwS8bUpwvnu3KdJs1ApBWKpxdaDQjwbI7ETgPOEV7zg5roqx5v/TvAE3TafZeOagS8t8qjy/t/r1/p0Ph+uTnA44WCX+U1NpK7p1CQuofiL58DdmDGpZEDzw6NA+HRPzJCPx+YIlRS81VaYiogRSoPksP+t7Hw219SdBcpNco5uISAChEAqAAHe9SkwVAAAAAAAA53SzCK3Lput4',
    ],
  },
} as const
