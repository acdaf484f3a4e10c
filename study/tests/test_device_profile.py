"""What is told of a pass, from kernels whose times are known."""

from study.scripts.device_profile import told


def test_means_a_step_and_the_order_of_the_middle_step() -> None:
    step = [("long", 0.0, 10.0), ("short", 11.0, 12.0), ("short", 15.0, 18.0)]
    kernels = [(name, begin + 100 * i, end + 100 * i) for i in range(3) for name, begin, end in step]
    assert list(told("mine", kernels, steps=3)) == [
        "# mine: 9 kernels, span 218 us, busy 42 us",
        "1.00 a step, 10.00 us each, 10.00 us a step  long",
        "2.00 a step, 2.00 us each, 4.00 us a step  short",
        "# mine: in order",
        "gap 0.00 dur 10.00 long",
        "gap 1.00 dur 1.00 short",
        "gap 3.00 dur 3.00 short",
    ]
